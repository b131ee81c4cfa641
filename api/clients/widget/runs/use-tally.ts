import {useEffect, useRef, useState} from 'preact/hooks'
import {pause} from '../../pause.ts'
import {client, inOrg} from '../state/session.ts'
import {type Group, mergeGroups} from './tally.ts'

export type Source = {id: string; label: string; rows: number}
type Page = {sources: Source[]; source: string; groups: Omit<Group, 'source'>[]; reached: number; nextCursor: string | null}
/** The rows of a run by outcome. `recounts` is how many times they were counted again. */
export type Tally = {groups: Group[]; sources: Source[]; isWhole: boolean; recounts: number; error: unknown; again(): void}
type State = Omit<Tally, 'again'>

const nothing: State = {groups: [], sources: [], isWhole: false, recounts: 0, error: null}
const leastPauseMs = 10_000
/** Length of the pause after a count, in durations of that count, because counting a large run is expensive. */
const pausePerCount = 10

/**
 * Counts the rows of a run by outcome, all files together, and returns partial results until the count is complete. With a null `runId` it
 * counts nothing. While the run is active and the page visible, it recounts regularly, and once more at the end. The old counts stay until
 * then.
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
    const path = inOrg(`/imports/${importId}/runs/${runId}/rows/tally`)
    const count = async () => {
      const begun = Date.now()
      const isAnew = counted.current === runId
      await countAll(path, signal, next => {
        if (!isAnew || next.isWhole) setState(({recounts}) => ({...next, recounts: recounts + Number(isAnew)}))
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
  return {...state, again: () => setRound(before => before + 1)}
}

const countAll = async (path: string, signal: AbortSignal, tell: (state: Omit<State, 'recounts'>) => void) => {
  let groups: Group[] = []
  let sources: Source[] = []
  for (let at = 0; at === 0 || at < sources.length; at++) {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Page = await client.get(path, {source: sources[at]?.id, cursor}, signal)
      sources = page.sources
      groups = mergeGroups(
        groups,
        page.groups.map(group => ({...group, source: page.source})),
      )
      cursor = page.nextCursor
      if (!signal.aborted) tell({groups, sources, isWhole: cursor === null && at === sources.length - 1, error: null})
    }
  }
}
