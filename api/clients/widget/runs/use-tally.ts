import {useEffect, useState} from 'preact/hooks'
import {client, inOrg} from '../state/session.ts'
import {type Group, mergeGroups} from './tally.ts'

export type Source = {id: string; label: string; rows: number}
type Page = {sources: Source[]; source: string; groups: Omit<Group, 'source'>[]; reached: number; nextCursor: string | null}
export type Tally = {groups: Group[]; sources: Source[]; isWhole: boolean; error: unknown; again(): void}
type State = Omit<Tally, 'again'>

const nothing: State = {groups: [], sources: [], isWhole: false, error: null}

/** How a run's rows ended, all its files together; of large ones what is counted so far, until it is whole. Null: nothing is to be counted. */
export const useTally = (importId: string, runId: string | null): Tally => {
  const [state, setState] = useState<State>(nothing)
  const [round, setRound] = useState(0)
  useEffect(() => {
    setState(nothing)
    if (runId === null) return
    const gone = new AbortController()
    countAll(inOrg(`/imports/${importId}/runs/${runId}/rows/tally`), gone.signal, setState).catch(
      error => gone.signal.aborted || setState(before => ({...before, error})),
    )
    return () => gone.abort()
  }, [importId, runId, round])
  return {...state, again: () => setRound(before => before + 1)}
}

const countAll = async (path: string, signal: AbortSignal, tell: (state: State) => void) => {
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
