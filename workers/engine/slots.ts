import type {Slots} from '../../shared/crm/slots.ts'

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
