import {listUnsettled, type UnsettledRow} from '../../../sql/unsettled.ts'
import type {Context} from '../context.ts'
import {type CompiledFlow, STEP_CODES} from '../model.ts'

export type UnsettledRowReader = {
  /**
   * Returns the unsettled entries of rows up to `number`, each only once, by row number. Leaves out entries of this run that need no
   * resolution. Call it with ascending numbers.
   */
  upTo(number: number): Promise<Map<number, UnsettledRow>>
}

/**
 * Reads the unsettled entries of earlier owners and of earlier runs of the chain. Reads page by page, because there may be as many entries
 * as rows. The entry of a row is read before this owner sends the row, so it never comes from this owner.
 */
export const openUnsettledRows = (
  {db, run, chain, retried}: Pick<Context, 'db' | 'run' | 'chain' | 'retried'>,
  flow: Pick<CompiledFlow, 'no' | 'module'>,
  perPage = 1_000,
): UnsettledRowReader => {
  let page: readonly UnsettledRow[] = []
  let readTo = 0

  const turn = async () => {
    page = await listUnsettled(db, {chain: retried ?? chain, flow: flow.no, module: flow.module.no, after: readTo, limit: perPage})
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
      return new Map(found.filter(row => row.run !== run.no || isStillOpen(row)).map(one => [one.number, one]))
    },
  }
}

/**
 * Whether an unsettled entry of this run must still be resolved. False if the run makes no further attempt. Also false for a create that
 * has neither a unique key nor a payload digest.
 */
const isStillOpen = ({kind, hasUniqueKey, digest, ended}: UnsettledRow) =>
  !ended && (kind !== STEP_CODES.create || hasUniqueKey || digest !== null)
