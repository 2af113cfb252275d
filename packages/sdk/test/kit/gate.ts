export interface Gate<T = void> {
  opened: Promise<T>
  open(value: T): void
}

/** Creates a promise that the test resolves by hand. */
export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
