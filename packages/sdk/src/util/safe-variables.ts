const posix = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ']
const windows = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
]

/**
 * Returns the environment variables that a program needs to run, without others that may be secrets.
 *
 * @param platform As in `process.platform`.
 */
export function safeVariables(
  env: Readonly<Record<string, string | undefined>>,
  platform: string,
): Record<string, string> {
  const safe: Record<string, string> = {}
  for (const name of platform === 'win32' ? windows : posix) {
    const value = env[name]
    // Such a value is an exported shell function, which is code.
    if (value !== undefined && !value.startsWith('()')) safe[name] = value
  }
  return safe
}
