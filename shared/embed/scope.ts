import type {Tx} from '../../sql/database.ts'
import {countEmbedImports, lockEmbedToken, sumEmbedRows} from '../../sql/embed-tokens.ts'
import {Refusal} from '../errors.ts'

/** What an embed token may do: create and run imports of one template, up to a number of rows in total. */
export type EmbedScope = {id: string; template: string; origin: string; rowsLimit: number}

export const mostEmbedImports = 20

const lock = async (tx: Tx, {id}: EmbedScope) => {
  const found = await lockEmbedToken(tx, id)
  if (found === null) throw new Refusal('AUTH_REQUIRED', 'This embed token no longer exists. Create a new one')
}

/** Throws if the token may create no further import. Until the transaction ends, no other request can create an import with the token. */
export const admitEmbedImport = async (tx: Tx, scope: EmbedScope): Promise<void> => {
  await lock(tx, scope)
  if ((await countEmbedImports(tx, scope.id)) >= mostEmbedImports)
    throw new Refusal('EMBED_LIMIT', `One embed token creates at most ${mostEmbedImports} imports. Reload the page that embeds this import`)
}

/** Returns how many rows runs of the token may still write. Until the transaction ends, no other request can start a run with the token. */
export const lockEmbedRows = async (tx: Tx, scope: EmbedScope): Promise<number> => {
  await lock(tx, scope)
  return Math.max(0, scope.rowsLimit - (await sumEmbedRows(tx, scope.id)))
}

/**
 * Returns the number of rows to authorise. A retry, whose rows are not known yet, gets at most the rows that are left, and throws EMBED_LIMIT if
 * none are left. Any other run throws EMBED_LIMIT if it has more rows than are left.
 */
export const admitEmbedRows = (rows: number, left: number, isRetry: boolean): number => {
  if (left > 0 && isRetry) return Math.min(rows, left)
  if (rows <= left) return rows
  const message = `This run has ${rows} rows, and this page may import ${left === 0 ? 'no more' : `${left} more`}. Import a smaller file`
  throw new Refusal('EMBED_LIMIT', message, {rows, left})
}
