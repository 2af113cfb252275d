/** The version of this package. `npm run check:exports` fails if `package.json` has another. */
export const version = '0.1.0'
