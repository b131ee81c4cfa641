export type Holds = {wait: () => Promise<void>; release: (count?: number) => number; waiting: () => number}

export const createHolds = (): Holds => {
  let held: (() => void)[] = []
  return {
    wait: () => new Promise(resolve => held.push(resolve)),
    waiting: () => held.length,
    release: (count = held.length) => {
      const freed = held.slice(0, count)
      held = held.slice(count)
      for (const go of freed) go()
      return freed.length
    },
  }
}
