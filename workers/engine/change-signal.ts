/** A signal that wakes loops. `next` resolves at the next `notify`, which wakes all waiters. */
export type ChangeSignal = {next(): Promise<void>; notify(): void}

export const openChangeSignal = (): ChangeSignal => {
  let {promise, resolve} = Promise.withResolvers<void>()
  return {
    next: () => promise,
    notify() {
      resolve()
      ;({promise, resolve} = Promise.withResolvers<void>())
    },
  }
}
