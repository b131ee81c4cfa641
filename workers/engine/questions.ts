import {listUnsettled, type Question} from '../../sql/unsettled.ts'
import type {Context} from './context.ts'
import {KINDS, type Track} from './row.ts'

export type {Question} from '../../sql/unsettled.ts'
export type Questions = {
  /** Of the rows up to `number` that were not asked about before. Rows are asked about in their order. */
  upTo(number: number): Promise<Map<number, Question>>
}

/**
 * What an earlier owner or an earlier run of the chain left open, page by page as the reader comes to it: there may be as many as rows. A
 * row's question is read before the row is, so none of this owner's own is among them.
 */
export const openQuestions = (
  {db, run, chain, retried}: Pick<Context, 'db' | 'run' | 'chain' | 'retried'>,
  track: Pick<Track, 'no'>,
  perPage = 1_000,
): Questions => {
  let page: readonly Question[] = []
  let readTo = 0

  const turn = async () => {
    page = await listUnsettled(db, {chain: retried ?? chain, flow: track.no, after: readTo, limit: perPage})
    readTo = page.length < perPage ? Number.POSITIVE_INFINITY : page.at(-1)!.number
  }
  return {
    async upTo(number) {
      const found = page.filter(one => one.number <= number)
      while (readTo < number) {
        await turn()
        found.push(...page.filter(one => one.number <= number))
      }
      page = page.filter(one => one.number > number)
      return new Map(found.filter(question => question.run !== run.no || isToBeSent(question)).map(one => [one.number, one]))
    },
  }
}

/** What this run could not find out stays as it was told. So does a create of which nobody knows any more what was sent. */
const isToBeSent = ({kind, witness, digest, ended}: Question) => !ended && (kind !== KINDS.create || witness || digest !== null)
