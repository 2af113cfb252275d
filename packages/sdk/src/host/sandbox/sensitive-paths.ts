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

/** True for `/` and the root of a drive. */
export function isWholeDisk(path: string): boolean {
  return /^(?:\/+|[A-Za-z]:[\\/]*)$/.test(path)
}

/** True for a whole home directory, or the folder of all of them. */
export function isHome(path: string): boolean {
  return /^(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|\/root|\/(?:home|Users)(?:\/[^/]+)?|[A-Za-z]:[\\/]Users(?:[\\/][^\\/]+)?)[\\/]?$/.test(
    path,
  )
}

/** True for the socket that controls a container runtime: access to it is access to the machine. */
export function isRuntimeSocket(path: string): boolean {
  return /(?:docker|podman|containerd|crio)\.sock\b|pipe[\\/]+docker_engine/.test(path)
}
