// Where a program answers otherwise on `@tenon/compat-v1` than on the official SDK, and why. Every entry is applied to both
// recordings before they are compared; an entry that changes nothing fails the test.

/** @type {{ program: string, why: string, apply(answers: object): object }[]} */
export const differences = []
