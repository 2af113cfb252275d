const names = 'a host changes names that model APIs do not accept'
const idleLogs = 'the server behind the gateway has 2026-07-28, where nothing can be logged outside of a request'
const listChanges = 'the gateway announces changes of its own list, which the host has checked before'
const afterLookup =
  'a gateway looks up which tools the caller may see before it compares arguments with headers, so the error is in a 200 response'
const unknownResources = 'the test subscribes to resources that no server has, which a gateway refuses'

/** Why tests cannot pass through a gateway, by file and a part of their titles. */
export const notPossible: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  advisories: {
    'keeps the stream of a session when a second one is opened with its id': idleLogs,
  },
  anonymous: {
    'are counted before their URIs are matched against templates':
      'the test counts matches in the server, which are made by the gateway',
    'are limited across all of its streams': unknownResources,
    'are limited by the total length of their URIs': unknownResources,
    'are limited in sessions too, and released when the session ends': unknownResources,
  },
  'abused-sessions': {
    'keeps sending messages to the first GET stream when a second one opens': idleLogs,
    'rejects a Last-Event-ID that is forged, foreign, malformed or repeated': idleLogs,
  },
  'argument-headers': {
    'are ignored in a session on request': afterLookup,
  },
  guards: {
    'a resumed stream counts, and is a 429 if there is no room': idleLogs,
  },
  headers: {
    'are checked if present, before the tool runs': afterLookup,
    'are checked for tools of mounted servers': afterLookup,
    "are required or ignored as 'standardHeaders' says": afterLookup,
    'accepts tools/call with Mcp-Name =?base64?R3LDtsOfZQ==?=': names,
    'accepts prompts/get with Mcp-Name =?base64?5pel5pys?=': names,
    'are accepted if they match': names,
    'handlers and middleware use the values of the body, not of headers':
      'the host sends requests of its own, which the test would have to tell apart',
  },
  'hostile-peers': {
    'is disconnected when too much data is queued for it': idleLogs,
  },
  sessions: {
    'have their own subscriptions':
      'the gateway subscribes at the server while it answers, and announces a change of any list as one of all lists',
  },
  unread: {
    'is aborted after writeTimeoutMs although the server keeps sending comments': idleLogs,
    'is aborted over fetch too': listChanges,
  },
}
