import type {MessagePort} from 'node:worker_threads'
import {receiveItems, sendItems} from './item-ports.ts'
import type {FileChunks, StreamItems} from './tasks.ts'
import type {StreamRequest} from './thread.ts'

/** `ask` resolves when the thread has finished the task. `refresh` restarts the deadline of the task. */
type Thread = {ask(request: StreamRequest, ports: MessagePort[]): Promise<unknown>; refresh(): void}

/** Rethrows errors of `items`. */
export async function* streamInThread({ask, refresh}: Thread, request: Omit<StreamRequest, 'ports'>, items: StreamItems): FileChunks {
  const [input, output] = [new MessageChannel(), new MessageChannel()]
  let failure: {error: unknown} | null = null
  const watched = async function* () {
    try {
      for await (const item of items) {
        refresh()
        yield item
      }
    } catch (error) {
      failure = {error}
      throw error
    }
  }
  const sending = sendItems(input.port1, watched())
  const ports = {items: input.port2, output: output.port2}
  const answered = ask({...request, ports}, [input.port2, output.port2]).then(
    () => null,
    (error: unknown) => {
      output.port1.close()
      return {error}
    },
  )
  try {
    const pieces = receiveItems<Uint8Array, number | null>(output.port1)
    for (;;) {
      const {done, value} = await pieces.next()
      refresh()
      if (done) return value
      yield value
    }
  } catch (error) {
    throw (failure ?? (await answered) ?? {error}).error
  } finally {
    output.port1.close()
    await Promise.all([answered, sending])
  }
}
