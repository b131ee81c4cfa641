import {listNewestTurns} from '../../../sql/conversations.ts'
import type {Db} from '../../../sql/database.ts'
import type {ModelTurn as Message} from '../model.ts'
import {readContextHash} from './context-hash.ts'
import {type ConversationPlace, keyOfPlace} from './conversation-place.ts'
import {isReplayed, mostReplayed, readTurn} from './turn.ts'

const longestAnswer = 4_000

type ReplayQuery = {org: string; importNo: number; place: ConversationPlace}

export type ReplayTurn = {sent: string; answer: string}

/** Returns the turns of a place that are replayed to a model, oldest first. Redacted parts of a question stay redacted. */
export const readReplay = async (db: Db, {org, importNo, place}: ReplayQuery): Promise<ReplayTurn[]> => {
  const ground = await readContextHash(db, org)
  const rows = await listNewestTurns(db, {importNo, place: keyOfPlace(place), limit: mostReplayed})
  const turns = rows.flatMap(row => {
    const turn = readTurn(row)
    return turn && isReplayed(turn, ground) ? [{sent: turn.body.sent!, answer: turn.body.answer}] : []
  })
  return turns.toReversed()
}

/** Returns the messages of the turns. `filter` redacts or masks personal values by the present rules, as in all other data that is sent. */
export const logReplay = (turns: readonly ReplayTurn[], filter: (text: string) => string): Message[] =>
  turns.flatMap(({sent, answer}): Message[] => [
    {role: 'user', text: filter(sent)},
    {role: 'assistant', text: filter(answer).slice(0, longestAnswer) || noWords},
  ])

/** Replaces an empty answer, because providers reject empty messages. */
const noWords = '(The answer has no words.)'
