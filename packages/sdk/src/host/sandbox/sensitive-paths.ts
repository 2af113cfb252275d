/** Describes the private files that a text points to; undefined if there are none. */
export function privateFiles(text: string): string | undefined {
  const plain = text.replaceAll('\\', '/').toLowerCase()
  return secrets.find(([, pattern]) => pattern.test(plain))?.[0]
}

/** Only where the data is: the program of a browser, public keys and the list of known hosts are not private. */
const secrets: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    'SSH keys',
    /\/\.ssh(?![\w-])(?!\/(?:known_hosts|config\b|[\w-]+\.pub\b))|\bid_(?:rsa|dsa|ecdsa|ed25519)\b(?!\.pub)/,
  ],
  ['GnuPG keys', /\/\.gnupg\b/],
  ['stored passwords', /\/library\/keychains\b|\/etc\/(?:shadow|sudoers)\b|\/\.(?:netrc|pgpass|password-store)\b/],
  [
    'a browser profile',
    /application support\/(?:google\/chrome|chromium|bravesoftware|microsoft edge|firefox)|\/\.config\/(?:google-chrome|chromium|bravesoftware|microsoft-edge)|\/\.mozilla\/firefox|\/mozilla\/firefox\/profiles|(?:chrome|edge|brave-browser|chromium)\/user data|\/library\/(?:safari|cookies)\b/,
  ],
]

/**
 * Describes the credentials that a path leads to; undefined if there are none. Finds more than `privateFiles`: a program may be
 * started with the file of its own settings, but an argument of a call that names it comes from a model.
 */
export function credentialFiles(path: string): string | undefined {
  const plain = `/${path.trim().replaceAll('\\', '/').toLowerCase()}`
  return privateFiles(plain) ?? credentials.find(([, pattern]) => pattern.test(plain))?.[0]
}

const credentials: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['AWS credentials', /\/\.aws(?:\/(?:credentials|config|sso|cli)\b|\/?$)/],
  [
    'cloud credentials',
    /\/\.config\/gcloud(?:\/|$)|\/application_default_credentials\.json$|\/\.azure(?:\/|$)|\/\.oci\/|\/gcloud\/credentials/,
  ],
  ['credentials of a cluster', /\/\.kube(?:\/config\b|\/?$)|\/var\/run\/secrets\/|\/etc\/kubernetes\/[\w-]+\.conf$/],
  ['credentials of a container registry', /\/\.docker\/config\.json$/],
  ['tokens of a package registry', /\/\.(?:npmrc|yarnrc\.yml|pypirc)$|\/\.(?:gem|cargo)\/credentials/],
  ['credentials of git', /\/\.git-credentials$|\/\.config\/gh\/hosts\.yml$/],
  // Examples of the file contain no values.
  [
    'the secrets of a program',
    /\/\.env(?:\.(?!(?:example|sample|template|dist|defaults?|schema|d\.ts)\b)[\w.-]+)?$|\/\.envrc$/,
  ],
  ['the environment of a process', /\/proc\/(?:self|thread-self|\d+)\/environ$/],
  [
    'keys or secrets',
    /\/etc\/ssl\/private(?:\/|$)|\/(?:privkey|private|server)[\w-]*\.(?:key|pem)$|\.(?:kdbx|p12|pfx|jks|keystore)$|\/(?:secrets?|credentials)\.(?:ya?ml|json|toml|env|txt|ini)$|\/\.config\/(?:op|rclone|doctl|heroku)\//,
  ],
  ['a wallet', /\/wallet\.dat$|\/\.(?:bitcoin|ethereum|electrum)\/|\/solana\/id\.json$/],
  ['the history of a shell', /\/\.(?:bash|zsh|sh|psql|mysql|python)_history$/],
  ['credentials of a tool', /\/\.terraform\.d\/credentials|\/\.vault-token$|\/\.my\.cnf$|\/\.htpasswd$/],
]

/** True for `/` and the root of a drive. */
export function isWholeDisk(path: string): boolean {
  return /^(?:\/+|[A-Za-z]:[\\/]*)$/.test(path)
}

/** True for a whole home directory, or the folder of all of them. */
export function isHome(path: string): boolean {
  return /^(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|\/root|\/(?:home|Users)(?:\/[^/]+)?|[A-Za-z]:[\\/]Users(?:[\\/][^\\/]+)?)[\\/]?$/i.test(
    path,
  )
}

/** True for the socket that controls a container runtime: access to it is access to the machine. */
export function isRuntimeSocket(path: string): boolean {
  return /(?:docker|podman|containerd|crio)\.sock\b|pipe[\\/]+docker_engine/.test(path)
}
