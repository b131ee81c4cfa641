/** A bound on calls in flight at the CRM. First come, first served; a waiter whose signal aborts leaves the line. */
export type Slots = {take(signal: AbortSignal): Promise<void>; give(): void; free(): number}

/** One batch's slot, which it may give up while it waits, and take again. Giving twice gives once. */
export type Slot = {give(): void; again(): Promise<void>}

export const holdSlot = async (slots: Slots, signal: AbortSignal): Promise<Slot> => {
  await slots.take(signal)
  let held = true
  return {
    give() {
      if (held) slots.give()
      held = false
    },
    async again() {
      await slots.take(signal)
      held = true
    },
  }
}

export const openSlots = (count: number): Slots => {
  let free = count
  const line: (() => void)[] = []
  return {
    free: () => free,
    take(signal) {
      signal.throwIfAborted()
      if (free > 0) {
        free--
        return Promise.resolve()
      }
      return new Promise((resolve, reject) => {
        const leave = () => {
          const at = line.indexOf(enter)
          if (at >= 0) line.splice(at, 1)
          reject(signal.reason)
        }
        const enter = () => {
          signal.removeEventListener('abort', leave)
          resolve()
        }
        signal.addEventListener('abort', leave, {once: true})
        line.push(enter)
      })
    },
    give() {
      const next = line.shift()
      if (next) next()
      else free++
    },
  }
}
