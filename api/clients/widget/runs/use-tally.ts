import {useEffect, useRef, useState} from 'preact/hooks'
import {pause} from '../../pause.ts'
import {countRows, type Group, type RunSource} from '../../run-reasons.ts'
import {useNextSession} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'

export type Source = RunSource
/**
 * The counts of a run's rows by outcome and reason. `isWhole`: whether all rows are counted. `recounts`: how many times the rows were counted
 * again.
 */
export type Tally = {groups: Group[]; sources: Source[]; isWhole: boolean; recounts: number; error: unknown; again(): void}
type State = Omit<Tally, 'again'>

const nothing: State = {groups: [], sources: [], isWhole: false, recounts: 0, error: null}
const leastPauseMs = 10_000
/** The pause after a count, as a multiple of the count's duration, because counting a large run is expensive. */
const pausePerCount = 10

/**
 * Counts the rows of a run by outcome and reason, or nothing if `runId` is null. The first count shows partial results; a recount keeps the old
 * counts until its end. While `isGoing` and the page is visible, the rows are recounted regularly, and once more when the run ends.
 */
export const useTally = (importId: string, runId: string | null, isGoing = false): Tally => {
  const [state, setState] = useState<State>(nothing)
  const [round, setRound] = useState(0)
  const counted = useRef<string | null>(null)
  useEffect(() => {
    if (counted.current !== runId) setState(nothing)
    if (runId === null) return
    const gone = new AbortController()
    const {signal} = gone
    const path = inOrg(`/imports/${importId}/runs/${runId}`)
    const count = async () => {
      const begun = Date.now()
      const isAnew = counted.current === runId
      await countRows(client, path, signal, next => {
        if (!isAnew || next.isWhole) setState(({recounts}) => ({...next, error: null, recounts: recounts + Number(isAnew)}))
      })
      counted.current = runId
      return Date.now() - begun
    }
    const goOn = async () => {
      for (let tookMs = await count(); isGoing; ) {
        await pause(Math.max(leastPauseMs, tookMs * pausePerCount), signal)
        if (!document.hidden) tookMs = await count()
      }
    }
    goOn().catch(error => signal.aborted || setState(before => ({...before, error})))
    return () => gone.abort()
  }, [importId, runId, round, isGoing])
  const again = () => setRound(before => before + 1)
  useNextSession(state.error, again)
  return {...state, again}
}
