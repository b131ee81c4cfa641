import {z} from 'zod'
import type {TurnRow} from '../../sql/conversations.ts'
import {readPlaceKey} from './place.ts'

/** Of the body. One more whenever this build could not read whole what it writes itself; also for a new kind of place. */
export const TURN_FORMAT = 1
/** Of the turns at a place only the newest so many are ever sent again. */
export const mostReplayed = 6

const TURN_ROUTES = ['auto-map', 'formula', 'chat'] as const
export const DRAFT_SCOPES = ['import', 'gaps', 'anyway'] as const

/** What an answer proposed, and where. */
export const Target = z.looseObject({kind: z.enum(['mapping', 'expression'])})
export type Target = z.infer<typeof Target>

/**
 * `question` and `answer` are the org's own, as they were asked and came. `sent`: the question as it left the server, null where nothing was said
 * that could be said again. `ground`: what decided what may leave at the time (`replay.ts`).
 */
export const TurnBody = z.object({
  route: z.enum(TURN_ROUTES),
  question: z.string(),
  answer: z.string(),
  notes: z.array(z.string()),
  targets: z.array(Target),
  samples: z.enum(['allow', 'values', 'masked', 'none']),
  sent: z.string().nullable(),
  ground: z.string(),
  draft: z.boolean(),
  draftId: z.string().nullable(),
  draftScope: z.enum(DRAFT_SCOPES).nullable(),
})
export type TurnBody = z.infer<typeof TurnBody>

type Turn = TurnRow & {body: TurnBody}

/** Null for a turn that a newer build wrote. */
export const readTurn = (row: TurnRow): Turn | null => (row.format > TURN_FORMAT ? null : {...row, body: TurnBody.parse(row.body)})

/**
 * Whether it may be sent again: it is among the newest at its place, something was said, and where any of the file was said with it, the org
 * still says the same of what may leave. Of a column that was nobody's and is personal now, its answer may hold values.
 */
export const isReplayed = ({newer, body: {sent, samples, ground}}: Turn, now: string): boolean =>
  newer < mostReplayed && sent !== null && (samples === 'none' || ground === now)

/** As the API answers it. */
export const describeTurn = (turn: Turn, ground: string) => {
  const {id, place, position, askedAt, askedBy, askedVia, body} = turn
  const {route, question, answer, notes, targets, samples, draft, draftId, draftScope} = body
  return {
    ...{id, place: readPlaceKey(place), route, position, question, answer, notes, targets, samples, askedAt, askedBy, askedVia},
    ...{replayed: isReplayed(turn, ground), draft, draftId, draftScope},
  }
}
export type DescribedTurn = ReturnType<typeof describeTurn>
