import type {Slots} from '../../../shared/crm/limits/slots.ts'

/** The slot of one batch. The batch may give it up during a wait and take it again. Giving it up twice has no further effect. */
export type BatchSlot = {give(): void; again(): Promise<void>}

export const acquireBatchSlot = async (slots: Slots, signal: AbortSignal): Promise<BatchSlot> => {
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
