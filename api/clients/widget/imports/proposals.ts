import type {Json} from '../../http.ts'
import type {Sample} from '../../sample.ts'
import {useKept} from '../state/kept.ts'
import {type Doing, useDoing, useRemoved} from '../state/load.ts'
import {client} from '../state/session.ts'
import type {Flow, Imported, Source} from './import.ts'
import type {Proposals} from './proposal.ts'

type ProposalsInput = {found: Imported; flow: Flow; source: Source; sample: Sample}

/**
 * Asks the AI model for a mapping of the flow. The answer survives a reload of the page. An answer for a flow that is no longer shown is ignored,
 * because it would restore that flow.
 */
export const useProposals = (
  {found, flow, source, sample}: ProposalsInput,
  onAnswer: (answer: Proposals) => void,
): {proposed: Proposals | null; ask: Doing<[]>} => {
  const [proposed, setProposed] = useKept<Proposals | null>(`proposals ${found.id} ${source.id} ${flow.module}`, null)
  const removed = useRemoved()
  const ask = useDoing(async () => {
    const body = {
      connectorId: found.connectorId,
      modules: [flow.module],
      ...sample,
      import: found.id,
      place: ['source', source.id],
    }
    const {proposals, model, samples, credits}: Json = await client.post('/ai/auto-map', body)
    if (removed.aborted) return
    const answer = {proposals, model, samples, credits}
    setProposed(answer)
    onAnswer(answer)
  })
  return {proposed, ask}
}
