import type { Finding, FindingRule } from './finding.ts'

/**
 * A phrase that addresses the model. The pattern is tested on a few hundred characters around an anchor. A space in it stands for
 * white space and quotes, so `don t` also matches `don't`.
 */
export interface InstructionRule {
  /** The rule of the finding. Default `instructions`. */
  readonly rule?: FindingRule | undefined
  readonly severity: Finding['severity']
  readonly message: string
  /** Words or, if they are not only letters, parts of words that every match contains. */
  readonly anchors: readonly string[]
  readonly pattern: RegExp
  /** A text that every match contains, which is faster to look for than the pattern. */
  readonly contains?: string | undefined
  /** Another phrase that must be near. One pattern with a gap in the middle could take quadratic time. */
  readonly and?: RegExp | undefined
  /** How far the pattern reaches from an anchor. Default 110. */
  readonly charsAround?: number | undefined
  /** Also finds the phrase if it is split over several texts of a server. */
  readonly mayBeSplit?: boolean | undefined
  /** Only in definitions, which describe tools. In a document or a mail the phrase is ordinary. */
  readonly isForDefinitions?: boolean | undefined
}

const not =
  '(?:do not|don t|dont|does not|doesn t|never|must not|mustn t|should not|shouldn t|shall not|may not|without|avoid|refrain from|not to|no need to)'
const adverbs = '(?: (?:ever|also|explicitly|first|even|directly|you|please))?'
const theUser = '(?:the |your |this |any |an? |end )*(?:users?|humans?|customers?|operators?|person|anyone|anybody)\\b'
const earlier = '(?:previous|prior|earlier|preceding|above|foregoing|your|system|safety|developer|original|initial)'
const orders = '(?:instructions?|prompts?|guidelines?|directives?|directions|orders|programming|training|safeguards?)'
const files =
  '(?:\\.ssh\\b|id_rsa|id_ed25519|\\.aws\\b|(?<!process|import\\.meta)\\.env\\b|mcp\\.json|claude_desktop_config|/etc/passwd|/etc/shadow|\\.npmrc|\\.netrc|\\.git-credentials|\\.kube/config|\\.gnupg|wallet\\.dat|\\.bash_history|\\.docker/config|\\.pgpass|keychain)'
const credentialFiles =
  '.ssh/ /.ssh id_rsa id_ed25519 .aws .env mcp.json claude_desktop_config /etc/passwd /etc/shadow .npmrc .netrc .git-credentials .kube/config .gnupg wallet.dat .bash_history .docker/config .pgpass keychain'.split(
    ' ',
  )
/** A few words of the same sentence. */
const gap = '(?:[^.!?]|\\.(?=\\S)){0,60}'
const read = '(?:read|open|cat|load|copy|extract|retrieve|collect|dump|grab|steal|fetch|get|access)'
const send =
  '(?:pass|send|include|put|provide|add|append|attach|upload|post|paste|forward|write|insert|transmit|exfiltrate|leak|return)'
const secrets =
  '(?:api keys?|passwords?|passphrases?|credentials|access tokens?|auth tokens?|session tokens?|secrets|secret keys?|private keys?|ssh keys?|seed phrases?)'

const secretWords = [
  'password',
  'passwords',
  'passphrase',
  'credentials',
  'token',
  'tokens',
  'api key',
  'private key',
  'ssh key',
  'secret key',
  'secrets',
  'cookie',
  'cookies',
]
const secretNouns =
  '(?:api(?: |_|-)?keys?|passwords?|passphrases?|credentials|(?:\\w+ )?tokens?|secrets?|(?:secret|private|ssh) keys?|cookies?)'
const outboundUrl = 'https?://(?!localhost|127\\.|\\[::1)'
const sensitiveWords = ['phrase', 'phrases', 'mnemonic', 'words', 'card', 'cards', 'social security', 'banking pin']
const sensitiveData =
  '\\b(?:(?:seed|recovery|backup|mnemonic)(?: |-)(?:phrases?|words)|(?:12|24|twelve|twenty-four)(?: |-)(?:secret |magic )?words?|mnemonic|card numbers?|numbers? (?:on|of) (?:\\w+ ){0,4}?(?:credit |debit |bank |payment )card|banking pins?|social security numbers?)\\b'

export const instructionRules: readonly InstructionRule[] = [
  {
    severity: 'high',
    message: 'The text orders the model to ignore its instructions.',
    mayBeSplit: true,
    anchors:
      'ignore ignoring disregard disregarding forget override overriding bypass bypassing drop discard abandon suspend'.split(
        ' ',
      ),
    pattern: new RegExp(
      `\\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass)(?: (?:all|any|every|of|the|my|other|these|those|about)){0,5}(?: ${earlier}){1,3}(?: (?:system|safety|security|developer|user|given|and|or|prior|previous|set|of|the|chat)){0,4} ${orders}\\b` +
        `|\\b(?:ignore|disregard|forget)(?: (?:all|any|of|the|your)){0,4} ${earlier} (?:rules|messages|polic(?:y|ies)|constraints|restrictions|context|commands)\\b` +
        `|\\b(?:ignore|disregard|forget)(?: (?:all|any|of|the|your)){0,4} (?:instructions|rules|guidelines|prompts),? (?:above|before this|you (?:were|have|had)|that (?:you|came)|from (?:the |your )?(?:user|system|developer))` +
        // Programs override rules, too, but not those of the reader.
        `|\\b(?:overrid(?:e|ing)|bypass(?:ing)?|drop|discard|abandon|suspend)(?: (?:all|any|of)){0,3} (?:your|(?:previous|prior|earlier|preceding) )(?: (?:previous|prior|earlier|own|safety))? ?(?:rules|constraints|restrictions|polic(?:y|ies)|limits|safeguards)\\b` +
        // Programs ignore what is above a number, as in `above line 5`.
        `|\\b(?:forget|ignore|disregard) (?:everything|anything|all)(?: that)? (?:above(?! (?:(?:line|row|column|level|version) )?\\d[\\d.,]{0,9}%?(?:\\s|$))|before this|you (?:were|have been|had been|know)|came before|was said|i said)`,
    ),
  },
  {
    severity: 'high',
    message: 'The text orders the model to ignore its instructions.',
    mayBeSplit: true,
    anchors:
      'ignoriere ignoriert ignorieren vergiss ignora ignorad ignorez ignorer ignore oublie oubliez olvida dimentica esqueca negeer'.split(
        ' ',
      ),
    pattern:
      /\b(?:ignor\w*|vergiss|olvida|oublie\w*|dimentica|esqueca|negeer) (?:\w+ ){0,4}?(?:(?:vorherig\w*|vorangehend\w*|bisherig\w*|vorig\w*|eerdere|vorige|precedenti|anteriores|precedentes|previas) (?:\w+ )?(?:anweisung|instruc|istruzion|instruk|consignes|indicaci)|(?:instruc|istruzion|consignes|indicaci)\w* (?:\w+ )?(?:anterior|precedent|previ|prealable))/,
  },
  {
    severity: 'high',
    message: 'The text orders the model to keep something from the user.',
    mayBeSplit: true,
    anchors: ['tell', 'telling', 'inform', 'informing', 'notify', 'notifying', 'alert', 'alerting', 'warn', 'warning'],
    pattern: new RegExp(`\\b${not}${adverbs} (?:tell|inform|notify|alert|warn)(?:l?ing)? ${theUser}(?! to\\b)`),
  },
  {
    severity: 'high',
    message: 'The text orders the model to keep something from the user.',
    mayBeSplit: true,
    anchors: ['mention', 'mentioning', 'reveal', 'revealing', 'disclose', 'disclosing', 'discuss', 'discussing'],
    pattern: new RegExp(
      `\\b${not}${adverbs} (?:mention|reveal|disclos|discuss)(?:e|ing)? (?:(?:this|it|that|these|any of this|anything)(?: (?:step|steps|instructions?|fact|action|requirement|notice|message|file|about|this|part))* (?:to|with) ${theUser}|that you|this step|(?:this|these) instructions?|why\\b)` +
        // The recipient can also come first. `Never reveal to anyone your password` is advice.
        `|\\b(?:do not|don t|dont|never|must not|should not|avoid|without)${adverbs} (?:mention|reveal|disclos|discuss)(?:e|ing)? (?:to|with) (?:(?:the |your |this |end )+(?:users?|humans?|person)\\b|${theUser} that\\b)`,
    ),
  },
  // What a tool does is no secret from the person whose model calls it.
  {
    severity: 'high',
    message: 'The text orders the model to keep something from the user.',
    isForDefinitions: true,
    anchors: [
      'learns',
      'learn',
      'find out',
      'finds out',
      'realize',
      'realizes',
      'suspect',
      'suspects',
      'bring',
      'brought',
      'revealing',
      'mentioning',
    ],
    pattern: new RegExp(
      `\\b(?:users?|person|human|customers?)(?: (?:must|should|will|may|can|does|do|shall))? ?(?:not|n t|never)(?: ever)? (?:learns?|finds? out|realizes?|suspects?)\\b` +
        `|\\b(?:no need|need not|do not|don t|never|not)(?: (?:need|to|be|have)){0,3} (?:bring|brought) (?:(?:this|it|that) )?(?:up\\b|to (?:the |their |anyone s )?(?:user|attention))` +
        `|\\bwithout (?:revealing|mentioning) (?:the|this|any|that|it)\\b`,
    ),
  },
  // A description says what a tool does. What its reader has to do is for the user and the host to say.
  {
    severity: 'low',
    message: 'The text tells the model what it has to do.',
    isForDefinitions: true,
    anchors: ['assistant', 'model', 'agent', 'dear ai', 'ai must', 'ai should', 'ai has to', 'attention ai'],
    pattern:
      /\b(?:the|this|any|every|each) (?:calling |current |ai )?(?:assistant|model|agent|llm|ai)(?: using this tool)? (?:must|shall|has to|have to|needs to|is expected to|is required to|is to|disregards?|should (?:first|always|also|then|never|not))\b|\b(?:dear|attention|note to(?: the)?|hey),? (?:ai|assistant|language model|llm)\b/,
  },
  // Only the host has these. A tool that gets them was given the conversation.
  {
    severity: 'low',
    message: 'The text asks for the system prompt, the conversation or the session of the user.',
    isForDefinitions: true,
    anchors: ['prompt', 'message', 'messages', 'cookie', 'cookies', 'conversation'],
    pattern:
      /\b(?:your|(?:contents?|text|copy) of (?:the|your)) (?:\w+ )?system prompt\b|\b(?:the|your|this) (?:\w+ ){0,2}?(?:(?:previous|last|preceding|earlier) (?:\w+ )?(?:user |chat )?messages|(?:last|latest|previous) user message|session cookies?|(?:whole|entire|full|complete) (?:conversation|chat)(?: history)?)\b/,
  },
  // A tool that handles such files itself has no reason to tell the model where they are.
  {
    rule: 'credentials',
    severity: 'low',
    message: 'The definition names a file or a store with credentials.',
    isForDefinitions: true,
    anchors: [
      '.ssh/',
      'id_rsa',
      'id_ed25519',
      '.aws/credentials',
      '.kube/config',
      '.netrc',
      '.git-credentials',
      '.gnupg',
      '/etc/shadow',
      'password store',
      'wallet.dat',
      '.pgpass',
      'read .env',
      'open .env',
      'include .env',
      'archivo .env',
      'datei .env',
    ],
    pattern: new RegExp(
      // `Path of the key, for example ~/.ssh/id_rsa` describes a parameter.
      `(?<!\\b(?:paths?|locations?|defaults?|example|e\\.g|such as)\\b${gap})(?:\\.ssh/|\\bid_(?:rsa|ed25519)\\b|\\.aws/credentials|\\.kube/config|(?:^|[\\s/~])\\.(?:netrc|git-credentials|gnupg|pgpass)\\b|/etc/shadow|password store|wallet\\.dat|\\b(?:read|open|include|archivo|datei) \\.env\\b)`,
    ),
  },
  {
    severity: 'high',
    message: 'The text orders the model to keep something from the user.',
    mayBeSplit: true,
    anchors: [
      'secret',
      'hidden',
      'hide',
      'hiding',
      'conceal',
      'confidential',
      'know',
      'told',
      'aware',
      'notice',
      'noticing',
      'informed',
      'secretly',
      'covertly',
      'between',
      'no need to',
    ],
    pattern: new RegExp(
      `\\b(?:keep|keeping) (?:this|it|that|these|them|everything|its (?:use|existence))(?: \\w+){0,3} (?:from ${theUser}|between (?:us|you and me)\\b)` +
        // In documents about privacy, `hiding it from users` describes what a program does.
        `|\\b(?:hide|(?:by|and|while|for) hiding|conceal|concealing) (?:this|it|that|these|them|the fact|your actions?|any of this)(?: \\w+){0,5} from ${theUser}` +
        `|\\busers? (?:must|should|may|can|does|do|will|shall)(?: not|n t| never)(?: ever)? (?:be (?:told|informed|notified|made aware|aware)|know (?:about|that|of) |notice (?:this|that|it|any))` +
        `|\\b(?:users?|person|human)(?: using you)? (?:has|have) no need to (?:know|hear|see)\\b` +
        `|\\bwithout (?:the |your )?user(?: s)? (?:knowing|noticing|being (?:told|informed|aware))` +
        `|\\b(?:secretly|covertly) (?:send|read|upload|forward|copy|call|include|append|attach|collect|record|run|pass|transmit)\\b`,
    ),
  },
  {
    severity: 'high',
    message: 'The text orders the model to read or send files with credentials.',
    charsAround: 240,
    anchors: credentialFiles,
    // `This will open your mcp.json` describes a program.
    pattern: new RegExp(`(?<!\\b(?:will|would|can|automatically) )\\b${read} (?!the path|a path)${gap}${files}`),
    and: new RegExp(`\\b${send} .{0,60}\\b(?:contents?|its?|them|this|that|file|data|output|result|key|value)\\b`),
  },
  {
    severity: 'high',
    message: 'The text orders the model to read or send files with credentials.',
    charsAround: 160,
    anchors: credentialFiles,
    pattern: new RegExp(
      `\\b${send} (?:\\w+ ){0,6}(?:contents?|data|text|output) (?:of|from) .{0,40}${files}` +
        `|\\b(?:send|upload|forward|transmit|exfiltrate|leak|post|mail) (?:\\w+ ){0,4}[~/.\\w-]{0,60}${files}`,
    ),
  },
  {
    severity: 'high',
    message: 'The text orders the model to send credentials.',
    mayBeSplit: true,
    anchors: 'keys password passwords passphrase passphrases credentials tokens secrets phrase phrases'.split(' '),
    pattern: new RegExp(
      `\\b(?:send|include|pass|upload|forward|append|attach|exfiltrate|transmit|leak|paste|post)(?:ing)? (?:(?:\\w+ ){0,4}(?:the user s|user s|their|stored|saved|discovered)|(?:all|any)(?: of)?(?: the)?(?: user s| available| known)?|everything including) (?:\\w+ ){0,3}?${secrets}\\b`,
    ),
  },
  // Whoever asks for a secret and says where to send it wants to have it. A program that needs one says where to get it.
  {
    rule: 'credentials',
    severity: 'high',
    message: 'The text asks to send credentials to an address.',
    contains: '://',
    mayBeSplit: true,
    charsAround: 220,
    anchors: secretWords,
    // `Credentials, which can be found at https:` and `the Token URL at https:` say where to get something.
    pattern: new RegExp(
      `\\b${secretNouns}\\b[^\\n]{0,80}? (?:to|(?<!\\b(?:found|available|obtained|created|generated|url|uri|endpoint)[^a-z]{1,3})(?:at(?! a time)|on)|into|via|through) [^\\n]{0,12}?${outboundUrl}`,
    ),
    and: new RegExp(
      `\\b(?:send|paste|submit|upload|post|supply|forward|transmit|type|enter|append|share|provide|give|attach|confirm|put|drop|mail|email|copy|hand|leave|fill in|key in|deliver)(?:ing)? [^\\n]{0,60}?\\b${secretNouns}\\b`,
    ),
  },
  {
    rule: 'credentials',
    severity: 'high',
    message: 'The text asks to put credentials into a URL.',
    contains: '://',
    charsAround: 220,
    anchors: ['_key', '_token', '_secret', '_password', 'api key', 'password', 'token'],
    pattern: new RegExp(`${outboundUrl}[^\\s]{0,200}[?&]\\w{1,40}=`),
    and: new RegExp(
      `\\b(?:fetch|open|visit|request|load|include|send|append|add|put|pass|attach|call)\\b[^\\n]{0,120}?\\bvalue of (?:[^\\s]{1,30} ){0,3}?(?:\\w{0,40}_(?:key|token|secret|password)|${secretNouns})\\b`,
    ),
  },
  // With these, others can take the money of the user, and no tool needs them through a model.
  {
    rule: 'credentials',
    severity: 'high',
    message: 'The text asks for a seed phrase, a card number or the like.',
    mayBeSplit: true,
    anchors: sensitiveWords,
    pattern: new RegExp(
      `\\b(?:ask|prompt|have|get|let|tell) (?:the |your )?(?:users?|them) (?:for|to|type|enter|provide|give)\\b[^\\n.]{0,60}?${sensitiveData}` +
        `|\\b(?:provide|enter|type|supply|give|giving|submit|share|send|need|paste|hand|read)(?: in| me| us| over| out)? (?:your|their|the) [^\\n.]{0,40}?${sensitiveData}`,
    ),
  },
  {
    rule: 'credentials',
    severity: 'high',
    message: 'The tool asks for a seed phrase, a card number or the like.',
    isForDefinitions: true,
    anchors: sensitiveWords,
    pattern: new RegExp(
      `\\b(?:needs?|requires?|provide|enter|takes?|by|with|using|pass)(?: \\S{1,20}){0,7}? ?${sensitiveData}|^ ?(?:the |your )?${sensitiveData}`,
    ),
  },
  // What is in the memory of a model counts as its own knowledge in every later conversation.
  {
    severity: 'high',
    message: 'The text tells the model to remember something for other conversations.',
    mayBeSplit: true,
    anchors: ['memory', 'memories'],
    pattern:
      /\b(?:save|store|add|write|append|commit|persist|record|put|keep|remember|note)(?: [\w.:-]+){0,8}? (?:to|in|into) (?:your|the model s|the assistant s) (?:own |long-term |long term |persistent |permanent |core |saved )*memor(?:y|ies)\b|\bupdate your memor(?:y|ies) ?(?::|that\b|with the (?:fact|following)|to (?:say|include|reflect)\b)|\b(?:store|save|keep) (?:it |this )?in memory that\b|\b(?:create|add|write|make|save) (?:a |an |this |the )?(?:new )?memory(?: entry| note| item)? (?:saying|stating|that)\b/,
  },
  {
    severity: 'high',
    message: 'The text tells the model to remember something for other conversations.',
    mayBeSplit: true,
    anchors: [
      'future',
      'upcoming',
      'later',
      'subsequent',
      'every chat',
      'all chats',
      'every conversation',
      'all conversations',
      'permanently',
      'forever',
    ],
    pattern:
      /\b(?:remember|persist|apply|keep|store|save|note|memorize|memorise)\b[^\n.]{0,80}? (?:in|for|to|across|during) (?:all |any |every |each |your )*(?:future|upcoming|later|subsequent) (?:sessions?|conversations?|chats?)\b|\b(?:in|for) (?:all|every|each|any) (?:future|upcoming|later|subsequent) (?:sessions?|conversations?|chats?)\b[^\n.]{0,20}?\b(?:remember|always|never|treat|assume|use)\b|\b(?:keep in mind|remember|memorize|memorise)\b[^\n]{0,60}? (?:every|all|each) (?:\w+ )?(?:chats?|conversations?)\b|\b(?:applies|apply|valid|holds?) (?:to|for|in) (?:all|every|any) (?:future|upcoming|later|subsequent|other) (?:sessions?|conversations?|chats?)\b|\b(?:permanently|forever) (?:remember|memorize|memorise)\b/,
  },
  {
    severity: 'high',
    message: 'The text tells the model to write an order into a file that it reads as its instructions.',
    anchors: [
      'claude.md',
      'agents.md',
      'gemini.md',
      '.cursorrules',
      '.windsurfrules',
      '.clinerules',
      'copilot-instructions',
    ],
    pattern:
      /\b(?:add|append|write|put|insert|save)\b[^\n]{0,60}?(?:claude\.md|agents\.md|gemini\.md|\.cursorrules|\.windsurfrules|\.clinerules|copilot-instructions)/,
    and: /\b(?:skip|disable|bypass|trust|turn off|without (?:asking|confirmation|approval)|(?:never|do not|don t) (?:ask|warn|confirm|check))\b/,
  },
  {
    severity: 'high',
    message: 'The text orders the model to send data to an address.',
    mayBeSplit: true,
    isForDefinitions: true,
    anchors: ['forward', 'send', 'copy', 'upload'],
    pattern:
      /\b(?:must|always|required to|have to|has to|first|before|prior to|also)\b[^\n]{0,100}?\b(?:forward|send|copy|upload)\b[^\n]{0,60}?\b(?:mails?|emails?|messages?|conversations?|files?|documents?|notes|history|chats?|repositor(?:y|ies))\b[^\n]{0,40}? to (?:\S{1,60}@\S|https?:\/\/)/,
  },
  {
    severity: 'low',
    message: 'The text contains a marker that models take for an instruction with priority.',
    anchors: [
      '<important',
      '<|im_start',
      '<<sys>',
      '[inst]',
      '<system>',
      '<system_prompt',
      '<system-reminder',
      '<secret>',
      '<instructions_for',
    ],
    pattern: /<important|<\|im_start|<<sys>|\[inst\]|<system|<secret>|<instructions_for/,
  },
  {
    severity: 'low',
    message: 'The text orders the model to prefer this tool to the tools of other servers.',
    mayBeSplit: true,
    anchors: ['first', 'before', 'other', 'another'],
    pattern:
      /\b(?:always|must|required to|have to|make sure to) (?:\w+ )?(?:call|use|run|invoke|execute) this(?: tool| function)?(?: \w+){0,2} (?:first|before (?:any|all|every|each|other|anything|using any|calling any|doing any))|\bbefore (?:(?:using|calling|invoking|running|executing|you use|you call) )?(?:any|all|every|each) (?:of the )?other (?:\w+ ){0,2}tools?|\binstead of (?:any|all) (?:other )?(?:\w+ ){0,2}tools?|\bnever use (?:any )?(?:other|another) (?:\w+ )?(?:tools?|servers?)/,
  },
  {
    severity: 'low',
    message: 'The text asks for the system prompt or the conversation.',
    mayBeSplit: true,
    anchors: ['prompt', 'conversation', 'chat', 'instructions'],
    pattern:
      /\b(?:reveal|print|output|repeat|send|pass|include|tell|give|return|provide|copy|leak|dump|quote|paste|forward|show|share|append)(?: (?:me|us|back|out|verbatim|here|with|also))? (?:\w+ ){0,3}?(?:(?:the|your|its) (?:\w+ )?system prompt|your (?:full |exact |complete |own |initial |original )?(?:instructions|prompt)|(?:this|our|your|the current|the whole|the entire|the full|the complete) (?:\w+ )?(?:conversation|chat)(?: history)?(?: so far)?(?= (?:as|in|into|to|with|so)\b)|the (?:conversation|chat)(?: history)? so far)|\b(?:reply|respond|answer) with .{0,40}\b(?:instructions|prompt|guidelines) (?:that )?you (?:were|have been|had been) given/,
  },
  {
    severity: 'low',
    message: 'The text tells the model not to ask the user.',
    anchors: ['confirmation', 'permission', 'approval', 'consent', 'approved', 'authorized', 'consented', 'confirming'],
    pattern: new RegExp(
      `\\b${not}${adverbs} (?:ask|asking|request|requesting|wait|waiting|require|requiring)(?: \\w+){0,4} (?:confirmation|permission|approval|consent)\\b` +
        `|\\busers? (?:has|have) (?:already )?(?:approved|authorized|consented)`,
    ),
  },
  {
    severity: 'low',
    message: 'The text asks to repeat a call with more rights.',
    anchors: ['retry', 'again', 'rerun', 'repeat', 'retrying', 'resubmit'],
    pattern:
      /\b(?:retry|retrying|try again|call (?:\w+ ){0,3}again|run (?:\w+ ){0,3}again|rerun|repeat|resubmit) .{0,80}\b(?:admin|administrator|root|sudo|elevated|unrestricted|full access|all scopes|write access|(?:more|higher|broader|additional|full) (?:permissions?|privileges?|rights|access|scopes?))\b/,
  },
  {
    severity: 'low',
    message: 'The text asks to repeat a call with more rights.',
    anchors: ['retry', 'again', 'rerun', 'retrying', 'resubmit'],
    pattern:
      /\b(?:grant|give|request) .{0,60}\b(?:admin|root|full|write|unrestricted|all) (?:access|permissions?|privileges?|scopes?|rights)\b/,
    and: /\b(?:retry|try again|rerun|resubmit|call (?:\w+ ){0,3}again)/,
  },
  {
    severity: 'low',
    message: 'The text gives the model a new role.',
    anchors: [
      'jailbreak',
      'developer mode',
      'you are now',
      'new instructions',
      'from now on',
      'your new ',
      'new directive',
      'new order',
      'new command',
      'new instruction',
      'your earlier ',
      'your previous ',
      'your prior ',
    ],
    pattern:
      /\bjailbreak|\bdeveloper mode (?:enabled|is|on)|\byou are now (?:an? |the |in |operating |acting )|\bnew (?:system )?instructions ?:|\bfrom now on,? (?:you (?:must|will|should|are)|always|every)|\bnew (?:directive|order|command|instruction)s? for (?:the |all )?(?:\w+ )?(?:models?|ai|assistants?|agents?|llms?)\b|\byour new (?:task|goal|objective|job|mission|role) (?:is|will be)\b|\byour (?:earlier|previous|prior) (?:guidelines|instructions|rules|orders) (?:are|have been) (?:void|invalid|cancell?ed|obsolete|no longer|superseded|revoked)/,
  },
  {
    severity: 'low',
    message: 'The text asks for the contents of files or other data in a parameter that is not about them.',
    anchors: ['content', 'contents', 'sidenote', 'side note'],
    pattern: new RegExp(
      `\\b${send} (?:\\w+ ){0,6}contents? (?:\\w+ ){0,8}(?:as|in|into|to|through|via) (?:\\w+ ){0,3}(?:sidenote|side note|notes?|context|metadata|debug|comment|feedback|extra|summary)\\b`,
    ),
  },
  {
    severity: 'low',
    message: 'The text tells the model to act silently.',
    anchors: ['silently', 'quietly'],
    pattern:
      /\b(?:silently|quietly) (?:send|read|upload|forward|copy|call|include|append|attach|collect|record|pass|transmit)\b/,
  },
  {
    severity: 'low',
    message: 'The text asks the model to read a file with credentials.',
    anchors: [
      '.ssh/',
      '/.ssh',
      'id_rsa',
      'id_ed25519',
      '.aws/credentials',
      'claude_desktop_config',
      '/etc/passwd',
      '/etc/shadow',
      '.netrc',
      '.git-credentials',
      '.gnupg',
      'wallet.dat',
      '.bash_history',
      '.cursor/mcp.json',
    ],
    // A block of code begins after the sentence ends, also without a full stop.
    pattern: new RegExp(
      `\\b(?:first|please|must|always|and|then|to|now) ${read} (?!the path|a path)(?:[^.!?{]|\\{(?!\\s*\\n)|\\.(?=\\S)){0,60}${files}`,
    ),
  },
]

/** The most frequent orders to ignore instructions, in languages that do not use Latin letters. */
export const foreignOrders =
  /忽略[^。\n]{0,12}(?:指令|指示|说明|提示|命令)|無視して[^。\n]{0,20}指示|指示を[^。\n]{0,6}無視|이전[^.\n]{0,10}(?:지시|명령)[^.\n]{0,10}무시|игнорируй[^.\n]{0,30}(?:инструкци|указани)|забудь[^.\n]{0,30}(?:инструкци|указани)|تجاهل[^.\n]{0,20}(?:التعليمات|الأوامر)/i
