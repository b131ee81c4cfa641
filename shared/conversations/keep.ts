import {type AskedVia, findNextPlace, insertTurn, lockConversations} from '../../sql/conversations.ts'
import type {Tx} from '../../sql/database.ts'
import {newIdAfter} from '../ids.ts'
import {keyOfPlace, type Place} from './place.ts'
import {TURN_FORMAT, type TurnBody} from './turn.ts'

/** What of a turn is known when it is asked. `via` as the bearer's is called (`api/caller.ts`). */
export type Asking = {
  org: string
  importId: string
  place: Place
  askedAt: string
  person: string
  via: 'session' | 'token' | 'oauth'
  draft: Draft
}
type Draft = Pick<TurnBody, 'draft' | 'draftId' | 'draftScope'>
export type Said = Omit<TurnBody, keyof Draft>
/** What an answer itself says of its turn. */
export type Told = Omit<Said, 'ground'>

const VIA: Record<Asking['via'], AskedVia> = {session: 'session', token: 'api_token', oauth: 'mcp'}
const [longestQuestion, longestAnswer, mostTargets, mostNotes] = [10_000, 40_000, 500, 20]

/**
 * Keeps what was asked and answered, in the transaction in which it is paid for, as the last at its place. Answers its id and position; null where the
 * import or the file has gone meanwhile, and the turn with it. Ids are given while the import is held: whoever reads one has seen all before it.
 */
export const keepTurn = async (tx: Tx, asking: Asking, said: Said): Promise<{id: string; position: number} | null> => {
  const {org, importId, place, askedAt, person, via, draft} = asking
  const sourceId = place.source ?? null
  const importNo = await lockConversations(tx, {org, importId, sourceId})
  if (importNo === null) return null
  const key = keyOfPlace(place)
  const {position, lastId} = await findNextPlace(tx, {importNo, place: key})
  const id = newIdAfter('trn', lastId)
  const body: TurnBody = {
    ...{...said, ...draft},
    question: storable(said.question, longestQuestion),
    answer: storable(said.answer, longestAnswer),
    sent: said.sent === null ? null : storable(said.sent, longestQuestion),
    notes: said.notes.slice(0, mostNotes).map(note => storable(note, 1_000)),
    targets: plain(said.targets.slice(0, mostTargets)),
  }
  await insertTurn(tx, {
    ...{id, org, importNo, sourceId, place: key, position, format: TURN_FORMAT, askedAt, askedBy: person, askedVia: VIA[via], body},
  })
  return {id, position}
}

/** Postgres takes no NUL and no half of a character. */
const storable = (text: string, most: number) => text.slice(0, most).replaceAll('\0', '\ufffd').toWellFormed()

const plain = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? storable(part, longestAnswer) : part))
