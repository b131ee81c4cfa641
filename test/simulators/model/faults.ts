/** The effect of a fault on an answer. `echo`: the error body repeats the request, as some providers do. */
export type FaultAction =
  | {type: 'slow'; ms: number}
  /** Sends nothing until released or until the caller disconnects. */
  | {type: 'hold'}
  /** Stops a stream halfway, until released or until the caller disconnects. */
  | {type: 'stall'}
  | {type: 'status'; status: number; retryAfter?: string; echo?: boolean}
  /** Resets the connection before the first byte. */
  | {type: 'reset'}
  /** Closes the connection after half of the answer. */
  | {type: 'half'}
  /** Answers 200 with a body that is not JSON. */
  | {type: 'garbage'}
  /** Answers JSON that violates the requested schema. */
  | {type: 'wrongSchema'}
  /** Calls the first tool. */
  | {type: 'toolLoop'}
  | {type: 'redirect'; to: string}

const types = ['slow', 'hold', 'stall', 'status', 'reset', 'half', 'garbage', 'wrongSchema', 'toolLoop', 'redirect']

export type FaultSpec = {action: FaultAction; times?: number}

export const createFaults = () => {
  let faults: {action: FaultAction; left: number}[] = []
  let waiting: (() => void)[] = []
  return {
    /** Adds a fault. It applies `times` times; `Infinity` means until cleared. */
    add({action, times = 1}: FaultSpec) {
      if (!types.includes(action?.type)) throw new TypeError(`No such fault: ${JSON.stringify(action)}`)
      faults.push({action, left: times})
    },
    clear() {
      faults = []
    },
    take(): FaultAction | null {
      const fault = faults.find(({left}) => left > 0)
      if (fault) fault.left -= 1
      return fault?.action ?? null
    },
    held: () => waiting.length,
    release() {
      for (const go of waiting) go()
      waiting = []
    },
    wait: () => new Promise<void>(resolve => void waiting.push(resolve)),
  }
}
export type Faults = ReturnType<typeof createFaults>
