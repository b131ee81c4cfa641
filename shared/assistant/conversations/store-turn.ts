import {type AskedVia, findNextPlace, insertTurn, lockConversations} from '../../../sql/conversations.ts'
import type {Tx} from '../../../sql/database.ts'
import {newIdAfter} from '../../ids.ts'
import {storableText} from '../../schema/storable-text.ts'
import {type ConversationPlace, keyOfPlace} from './conversation-place.ts'
import {TURN_FORMAT, type TurnBody} from './turn.ts'

/**
 * The part of a turn that is known when the question is asked. `sourceId`: the file that the turn is deleted with, or null. `via`: how the caller
 * authenticated, as in `api/caller.ts`.
 */
export type TurnQuestion = {
  org: string
  importId: string
  place: ConversationPlace
  sourceId: string | null
  askedAt: string
  person: string
  via: 'session' | 'token' | 'oauth'
  draft: Draft
}
type Draft = Pick<TurnBody, 'draft' | 'draftId' | 'draftScope'>
export type TurnContent = Omit<TurnBody, keyof Draft>
/** The content of a turn without the digest of the privacy settings, which `openTurnStore` adds. */
export type TurnToKeep = Omit<TurnContent, 'ground'>

const VIA: Record<TurnQuestion['via'], AskedVia> = {session: 'session', token: 'api_token', oauth: 'mcp'}
const [longestQuestion, longestAnswer, mostTargets, mostNotes] = [10_000, 40_000, 500, 20]

/**
 * Stores a question and its answer as the last turn of the conversation place, in the transaction that charges for the answer. Long texts are
 * cut. Returns id and position, or null if the import or the file was deleted in the meantime. Ids are assigned under the import's lock. So if
 * a reader sees a turn, all turns with lower ids are visible too.
 */
export const keepTurn = async (
  tx: Tx,
  turnQuestion: TurnQuestion,
  turnContent: TurnContent,
): Promise<{id: string; position: number} | null> => {
  const {org, importId, place, sourceId, askedAt, person, via, draft} = turnQuestion
  const importNo = await lockConversations(tx, {org, importId, sourceId})
  if (importNo === null) return null
  const key = keyOfPlace(place)
  const {position, lastId} = await findNextPlace(tx, {importNo, place: key})
  const id = newIdAfter('trn', lastId)
  const body: TurnBody = {
    ...turnContent,
    ...draft,
    question: storableText(turnContent.question, longestQuestion),
    answer: storableText(turnContent.answer, longestAnswer),
    sent: turnContent.sent === null ? null : storableText(turnContent.sent, longestQuestion),
    notes: turnContent.notes.slice(0, mostNotes).map(note => storableText(note, 1_000)),
    targets: plain(turnContent.targets.slice(0, mostTargets)),
  }
  await insertTurn(tx, {
    id,
    org,
    importNo,
    sourceId,
    place: key,
    position,
    format: TURN_FORMAT,
    askedAt,
    askedBy: person,
    askedVia: VIA[via],
    body,
  })
  return {id, position}
}

const plain = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? storableText(part, longestAnswer) : part))
