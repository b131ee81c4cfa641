import {listUnsettled, type UnsettledRow} from '../../../sql/unsettled.ts'
import type {Context} from '../context.ts'
import {type CompiledFlow, STEP_CODES} from '../model.ts'

export type {UnsettledRow as Question} from '../../../sql/unsettled.ts'
export type UnsettledRowReader = {
  /** Returns the unsettled entries of rows up to `number`, without those it returned before. Call it with ascending numbers. */
  upTo(number: number): Promise<Map<number, UnsettledRow>>
}

/**
 * Reads the entries that an earlier owner or an earlier run of the chain left unsettled. Reads page by page, because there may be as many
 * entries as rows. A row's entry is read before the row, so entries of this owner are not among them.
 */
export const openQuestions = (
  {db, run, chain, retried}: Pick<Context, 'db' | 'run' | 'chain' | 'retried'>,
  flow: Pick<CompiledFlow, 'no'>,
  perPage = 1_000,
): UnsettledRowReader => {
  let page: readonly UnsettledRow[] = []
  let readTo = 0

  const turn = async () => {
    page = await listUnsettled(db, {chain: retried ?? chain, flow: flow.no, after: readTo, limit: perPage})
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

/** Whether the entry's row is sent again. False for an entry that this run already gave up, and for a create whose payload is no longer known. */
const isToBeSent = ({kind, witness, digest, ended}: UnsettledRow) => !ended && (kind !== STEP_CODES.create || witness || digest !== null)
