/**
 * Returns the capabilities of a client with these handlers, for SDKs that do not derive them.
 *
 * @param answers Any of `elicit(form, { signal })`, `elicitUrl(page, { signal })`, `sample(params, { signal })` and
 *   `roots()`.
 */
export function capabilitiesOf({ elicit, elicitUrl, sample, roots }) {
  const elicitation = { ...(elicit && { form: { applyDefaults: true } }), ...(elicitUrl && { url: {} }) }
  return {
    ...((elicit || elicitUrl) && { elicitation }),
    ...(sample && { sampling: { tools: {} } }),
    ...(roots && { roots: { listChanged: true } }),
  }
}

/** Returns the request handlers by method: `(params, { signal })`. */
export function methodsOf(answers) {
  return {
    ...((answers.elicit || answers.elicitUrl) && {
      'elicitation/create': (params, asking) =>
        params.mode === 'url' ? answers.elicitUrl(params, asking) : answers.elicit(params, asking),
    }),
    ...(answers.sample && { 'sampling/createMessage': (params, asking) => answers.sample(params, asking) }),
    ...(answers.roots && { 'roots/list': async () => ({ roots: await answers.roots() }) }),
  }
}
