export async function errorOf<E = Error & { code: string }>(promise: PromiseLike<unknown>): Promise<E> {
  try {
    await promise
  } catch (error) {
    return error as E
  }
  throw new Error('It was expected to fail, but it succeeded')
}
