import {signal as signalOf} from '@preact/signals'
import {type Inputs, useCallback, useEffect, useRef, useState} from 'preact/hooks'

export type Loaded<T> = {data: T | undefined; error: unknown; isLoading: boolean; again(): void}

/**
 * Loads data on mount and whenever `inputs` change. A new load aborts the previous one. If a load fails, the data of an earlier load with the same
 * inputs stays.
 */
export const useLoad = <T>(ask: (signal: AbortSignal) => Promise<T>, inputs: Inputs): Loaded<T> => {
  const [state, setState] = useState<{data: T | undefined; error: unknown; isLoading: boolean}>({
    data: undefined,
    error: null,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const loaded = useRef<Inputs | null>(null)
  useEffect(() => {
    const gone = new AbortController()
    setState(({data}) => ({data, error: null, isLoading: true}))
    ask(gone.signal).then(
      data => {
        if (gone.signal.aborted) return
        loaded.current = inputs
        setState({data, error: null, isLoading: false})
      },
      error => {
        if (gone.signal.aborted) return
        const isSame = loaded.current?.every((input, at) => input === inputs[at])
        setState(({data}) => ({data: isSame ? data : undefined, error, isLoading: false}))
      },
    )
    return () => gone.abort()
  }, [...inputs, round])
  const again = useCallback(() => setRound(before => before + 1), [])
  useNextSession(state.error, again)
  return {...state, again}
}

/** Counts the sessions that began in this tab. */
export const sessions = signalOf(0)

/** Repeats a failed load when a session begins. */
export const useNextSession = (error: unknown, again: () => unknown): void => {
  useEffect(() => {
    if (error) again()
  }, [sessions.value])
}

/** Returns a signal that is aborted when the component is removed. */
export const useRemoved = (): AbortSignal => {
  const [removed] = useState(() => new AbortController())
  useEffect(() => () => removed.abort(), [])
  return removed.signal
}

export type Doing<A extends unknown[]> = {run(...given: A): Promise<void>; isBusy: boolean; error: unknown; clear(): void}

/** Wraps an action with a busy and an error state. Calls while the action runs are ignored. */
export const useDoing = <A extends unknown[]>(work: (...given: A) => Promise<unknown>): Doing<A> => {
  const [state, setState] = useState<{isBusy: boolean; error: unknown}>({isBusy: false, error: null})
  const busy = useRef(false)
  const run = async (...given: A) => {
    if (busy.current) return
    busy.current = true
    setState({isBusy: true, error: null})
    try {
      await work(...given)
      setState({isBusy: false, error: null})
    } catch (error) {
      setState({isBusy: false, error})
    } finally {
      busy.current = false
    }
  }
  return {run, ...state, clear: () => setState({isBusy: false, error: null})}
}
