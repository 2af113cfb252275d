/**
 * What a client with these answers declares, for SDKs that do not find out by themselves.
 *
 * @param answers Any of `elicit(form, { signal })`, `elicitUrl(page, { signal })`, `sample(params, { signal })` and `roots()`.
 */
export function capabilitiesOf({ elicit, elicitUrl, sample, roots }) {
  const elicitation = { ...(elicit && { form: { applyDefaults: true } }), ...(elicitUrl && { url: {} }) }
  return {
    ...((elicit || elicitUrl) && { elicitation }),
    ...(sample && { sampling: { tools: {} } }),
    ...(roots && { roots: { listChanged: true } }),
  }
}

/** By method, how to answer a server: `(params, { signal })`. */
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
