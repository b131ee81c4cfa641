import {listNewestTurns} from '../../sql/conversations.ts'
import type {Db} from '../../sql/database.ts'
import type {Turn as Message} from '../ai/model.ts'
import {readGround} from './ground.ts'
import {keyOfPlace, type Place} from './place.ts'
import {isReplayed, mostReplayed, readTurn} from './turn.ts'

/** Of one answer no more is said again. */
const longestAnswer = 4_000

type Asked = {org: string; importNo: number; place: Place}

/**
 * What was said at a place before, as a model is told it again: the oldest first, and each through `filter`, which is that of everything that
 * leaves now. Questions as they left then: what was struck out of them stays out.
 */
export const readReplay = async (db: Db, {org, importNo, place}: Asked, filter: (text: string) => string): Promise<Message[]> => {
  const ground = await readGround(db, org)
  const rows = await listNewestTurns(db, {importNo, place: keyOfPlace(place), limit: mostReplayed})
  const turns = rows.flatMap(row => {
    const turn = readTurn(row)
    return turn && isReplayed(turn, ground) ? [turn] : []
  })
  return turns.toReversed().flatMap(({body: {sent, answer}}): Message[] => [
    {role: 'user', text: filter(sent!)},
    {role: 'assistant', text: filter(answer).slice(0, longestAnswer) || noWords},
  ])
}

/** Providers take no empty message. */
const noWords = '(The answer has no words.)'
