/** Something a loop may be waiting for. */
export type Change = {next(): Promise<void>; happened(): void}

export const openChange = (): Change => {
  let {promise, resolve} = Promise.withResolvers<void>()
  return {
    next: () => promise,
    happened() {
      resolve()
      ;({promise, resolve} = Promise.withResolvers<void>())
    },
  }
}
