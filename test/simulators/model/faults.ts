/** What goes wrong with an answer. `echo`: the error's body repeats the request, as some providers' do. */
export type FaultAction =
  | {type: 'slow'; ms: number}
  /** Says nothing until it is released, or the caller goes. */
  | {type: 'hold'}
  /** The same of a stream, after half of it. */
  | {type: 'stall'}
  | {type: 'status'; status: number; retryAfter?: string; echo?: boolean}
  /** Before the first byte. */
  | {type: 'reset'}
  /** After half of the answer. */
  | {type: 'half'}
  /** 200, and no JSON. */
  | {type: 'garbage'}
  /** JSON, and none that was asked for. */
  | {type: 'wrongSchema'}
  /** Calls the first tool it was given, every time. */
  | {type: 'toolLoop'}
  /** Sends the caller elsewhere. */
  | {type: 'redirect'; to: string}

const types = ['slow', 'hold', 'stall', 'status', 'reset', 'half', 'garbage', 'wrongSchema', 'toolLoop', 'redirect']

export type FaultSpec = {action: FaultAction; times?: number}

export const createFaults = () => {
  let faults: {action: FaultAction; left: number}[] = []
  let waiting: (() => void)[] = []
  return {
    /** Once, where nothing is said; `Infinity` until it is cleared. */
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
    /** Ends all holds. */
    release() {
      for (const go of waiting) go()
      waiting = []
    },
    wait: () => new Promise<void>(resolve => void waiting.push(resolve)),
  }
}
export type Faults = ReturnType<typeof createFaults>
