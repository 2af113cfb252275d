/** The versions in new projects. A test compares them with those that this repository is tested with. */
export const versions = {
  zod: '^4.6.7',
  '@types/node': '^20.19.30',
  tsx: '^4.23.15',
  typescript: '^7.0.2',
  vitest: '^4.1.12',
} as const
