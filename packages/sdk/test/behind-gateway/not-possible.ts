const logging = 'needs logging in the gateway'
const subscriptions = 'needs resource subscriptions in the gateway'
const names = 'a host changes names that model APIs do not accept'
const listChanges = 'the gateway announces changes of its own list, which the host has checked before'

/** Why tests cannot pass through a gateway, by file and a part of their titles. */
export const notPossible: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  advisories: {
    'keeps the stream of a session when a second one is opened with its id': logging,
  },
  anonymous: {
    'are limited across all of its streams, and released when a stream ends': subscriptions,
    'are counted before their URIs are matched against templates': subscriptions,
    'are limited by the total length of their URIs': subscriptions,
    'are limited in sessions too, and released when the session ends': subscriptions,
  },
  'abused-sessions': {
    'is rejected for every other caller, with any method': logging,
    'keeps sending messages to the first GET stream when a second one opens': logging,
    'rejects a Last-Event-ID that is forged, foreign, malformed or repeated': logging,
    'rejects a request id that is still in progress, but only within the same session': logging,
    'keeps serving when clients disconnect in the middle of their streams': logging,
  },
  headers: {
    'accepts tools/call with Mcp-Name =?base64?R3LDtsOfZQ==?=': names,
    'accepts prompts/get with Mcp-Name =?base64?5pel5pys?=': names,
    'are accepted if they match': names,
    'handlers and middleware use the values of the body, not of headers':
      'the host sends requests of its own, which the test would have to tell apart',
  },
  'hostile-peers': {
    'is disconnected when too much data is queued for it': logging,
  },
  sessions: {
    'have their own subscriptions': subscriptions,
  },
  unread: {
    'is aborted after writeTimeoutMs although the server keeps sending comments': logging,
    'is aborted over fetch too': listChanges,
  },
}
