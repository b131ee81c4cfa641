import {type Inputs, useCallback, useEffect, useRef, useState} from 'preact/hooks'

export type Loaded<T> = {data: T | undefined; error: unknown; isLoading: boolean; again(): void}

/** Loads data on mount and whenever `inputs` change. A new load aborts the previous one. */
export const useLoad = <T>(ask: (signal: AbortSignal) => Promise<T>, inputs: Inputs): Loaded<T> => {
  const [state, setState] = useState<{data: T | undefined; error: unknown; isLoading: boolean}>({
    data: undefined,
    error: null,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const gone = new AbortController()
    setState(({data}) => ({data, error: null, isLoading: true}))
    ask(gone.signal).then(
      data => gone.signal.aborted || setState({data, error: null, isLoading: false}),
      error => gone.signal.aborted || setState(({data}) => ({data, error, isLoading: false})),
    )
    return () => gone.abort()
  }, [...inputs, round])
  const again = useCallback(() => setRound(before => before + 1), [])
  return {...state, again}
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
