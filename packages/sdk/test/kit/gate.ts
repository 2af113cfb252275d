export interface Gate<T = void> {
  opened: Promise<T>
  open(value: T): void
}

/** A promise that the test resolves when it is time. */
export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
