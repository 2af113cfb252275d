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

/** Returns the environment variables that a program needs to run, without others that may be secrets. */
export function safeEnvironment(): Record<string, string> {
  const safe: Record<string, string> = {}
  for (const name of process.platform === 'win32' ? windows : posix) {
    const value = process.env[name]
    // Such a value is an exported shell function, which is code.
    if (value !== undefined && !value.startsWith('()')) safe[name] = value
  }
  return safe
}
