import {listTurns, type TurnRow} from '../../../sql/conversations.ts'
import type {Pool} from '../../../sql/database.ts'
import {findImport} from '../../../sql/imports.ts'
import {findSource} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {readPage} from '../../security/cursor.ts'
import type {KeyRing} from '../../security/secrets.ts'
import {readContextHash} from './context-hash.ts'
import {invalidPlace, keyOfPlace, readPlaceKey} from './conversation-place.ts'
import {type DescribedTurn, describeTurn, mostReplayed, readTurn} from './turn.ts'

type ConversationsQuery = {
  org: string
  importId: string
  source?: string | undefined
  place?: string | undefined
  /** A turn id. Only turns that were stored later are returned, even if their questions were asked earlier. */
  keptAfter?: string | undefined
  limit: number
  cursor?: string | undefined
}

/**
 * Returns a page of an import's turns, newest question first. Turns of a newer format are left out, so a page may be shorter than `limit` and
 * still have a next page. A turn stored during paging may sort before the cursor; `keptAfter` finds it.
 */
export const readConversations = async (
  {db, ring}: {db: Pool; ring: KeyRing},
  {org, importId, source, place: placeKey, keptAfter, limit, cursor}: ConversationsQuery,
): Promise<{turns: DescribedTurn[]; nextCursor: string | null}> => {
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const hasFile = async (id: string) => (await findSource(db, {importNo: found.no, id})) !== null
  const named = placeKey === undefined ? null : readPlaceKey(placeKey)
  if (named?.source && !(await hasFile(named.source))) throw invalidPlace()
  if (source !== undefined && !(await hasFile(source))) throw new Refusal('SOURCE_NOT_FOUND', 'The import has no such file')
  const place = named && keyOfPlace(named)
  const list = ['turns', importId, source ?? '', place ?? '', keptAfter ?? ''].join(' ')
  const {page, nextCursor} = await readPage<TurnRow, string>(
    ring,
    list,
    {limit, cursor},
    {
      as: String,
      read: ({place: before, limit: most}) =>
        listTurns(db, {
          importNo: found.no,
          sourceId: source ?? null,
          place,
          keptAfter: keptAfter ?? null,
          before: before === null ? null : placeIn(before),
          limit: most,
          mostNewer: mostReplayed,
        }),
      placeOf: ({askedAt, id}) => `${askedAt} ${id}`,
    },
  )
  const ground = await readContextHash(db, org)
  const turns = page.flatMap(row => {
    const turn = readTurn(row)
    return turn ? [describeTurn(turn, ground)] : []
  })
  return {turns, nextCursor}
}

const placeIn = (cursor: string) => {
  const [askedAt, id] = cursor.split(' ')
  return {askedAt: askedAt!, id: id!}
}
