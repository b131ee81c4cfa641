import {z} from 'zod'
import type {TurnRow} from '../../../sql/conversations.ts'
import {readPlaceKey} from './conversation-place.ts'

/** Format of the body. Increase it for every change that an older build could not read completely, including a new kind of place. */
export const TURN_FORMAT = 1
/** Only this many of the newest turns at a place can be replayed. */
export const mostReplayed = 6

const TURN_ROUTES = ['auto-map', 'formula', 'chat'] as const
export const DRAFT_SCOPES = ['import', 'gaps', 'anyway'] as const

export const TurnTarget = z.looseObject({kind: z.enum(['mapping', 'expression'])})
export type TurnTarget = z.infer<typeof TurnTarget>

/**
 * The stored body of a turn. `question` and `answer` are the original texts. `sent` is the question as it was sent to the model, or null if
 * nothing can be replayed. `ground` is the digest of the privacy settings at that time (`context-hash.ts`).
 */
export const TurnBody = z.object({
  route: z.enum(TURN_ROUTES),
  question: z.string(),
  answer: z.string(),
  notes: z.array(z.string()),
  targets: z.array(TurnTarget),
  samples: z.enum(['allow', 'values', 'masked', 'none']),
  sent: z.string().nullable(),
  ground: z.string(),
  draft: z.boolean(),
  draftId: z.string().nullable(),
  draftScope: z.enum(DRAFT_SCOPES).nullable(),
})
export type TurnBody = z.infer<typeof TurnBody>

type Turn = TurnRow & {body: TurnBody}

/** Parses a turn. Returns null if a newer build stored it. */
export const readTurn = (row: TurnRow): Turn | null => (row.format > TURN_FORMAT ? null : {...row, body: TurnBody.parse(row.body)})

/**
 * Whether a turn is replayed. The turn must be among the newest at its place, and its question must have been sent. If file data was sent, the org's
 * privacy settings must be unchanged, because the old answer may quote a column that has become personal.
 */
export const isReplayed = ({newer, body: {sent, samples, ground}}: Turn, now: string): boolean =>
  newer < mostReplayed && sent !== null && (samples === 'none' || ground === now)

export const describeTurn = (turn: Turn, ground: string) => {
  const {id, place, position, askedAt, askedBy, askedVia, body} = turn
  const {route, question, answer, notes, targets, samples, draft, draftId, draftScope} = body
  return {
    id,
    place: readPlaceKey(place),
    route,
    position,
    question,
    answer,
    notes,
    targets,
    samples,
    askedAt,
    askedBy,
    askedVia,
    replayed: isReplayed(turn, ground),
    draft,
    draftId,
    draftScope,
  }
}
export type DescribedTurn = ReturnType<typeof describeTurn>
