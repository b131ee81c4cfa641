import type {Slots} from '../../../shared/crm/limits/slots.ts'

/**
 * The slot of one batch. `granted`: resolves when the batch has the slot. `give`: gives the slot up; a second call has no effect. `again`:
 * queues again, like `queueForSlot`.
 */
export type BatchSlot = {granted(): Promise<void>; give(): void; again(): Promise<void>}

/** Queues for a slot. Resolves when the batch is near the front of the queue, so that its intent is stored before the slot is free. */
export const queueForSlot = async (slots: Slots, signal: AbortSignal): Promise<BatchSlot> => {
  let slot: Promise<void> | null = null
  const again = async () => {
    const {promise: near, resolve} = Promise.withResolvers<void>()
    slot = slots.take(signal, resolve)
    await Promise.race([near, slot])
  }
  await again()
  return {
    granted: () => slot!,
    give() {
      const given = slot
      slot = null
      given?.then(
        () => slots.give(),
        () => undefined,
      )
    },
    again,
  }
}

/** Resolves when the batch has the slot. */
export const acquireBatchSlot = async (slots: Slots, signal: AbortSignal): Promise<BatchSlot> => {
  const slot = await queueForSlot(slots, signal)
  await slot.granted()
  return slot
}
