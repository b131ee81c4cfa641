import {z} from 'zod'
import {readAskedAt} from '../../../sql/conversations.ts'
import type {Db, Tx} from '../../../sql/database.ts'
import {findImport, type Import} from '../../../sql/imports.ts'
import {findSource} from '../../../sql/sources.ts'
import {Refusal} from '../../errors.ts'
import {withJsonSchema} from '../../schema/json-schema.ts'
import {readContextHash} from './context-hash.ts'
import {type ConversationPlace, invalidPlace, readPlace} from './conversation-place.ts'
import {keepTurn, type TurnQuestion, type TurnToKeep} from './store-turn.ts'
import {DRAFT_SCOPES} from './turn.ts'

/** Body fields of AI routes that say where the turn is stored. If the import or the place is missing, the turn is not stored. */
export const questionPlaceShape = {
  import: z
    .string()
    .max(100)
    .optional()
    .describe('The import that the question is about. With a `place`, the answer is stored as a turn of the conversation there'),
  place: withJsonSchema(z.unknown(), z.array(z.string()))
    .optional()
    .describe('The place in the import: the kind and its parts, such as `["field", "src_…", "Leads", "Email"]` or `["checks"]`'),
  draft: z.boolean().default(false).describe('Whether the turn belongs to a draft'),
  draftId: z.string().min(1).max(100).nullish().describe('The client’s own id of the draft'),
  draftScope: z.enum(DRAFT_SCOPES).nullish().describe('The scope of the draft. It is stored for the client and has no effect'),
}
type Body = z.output<z.ZodObject<typeof questionPlaceShape>>

/** Checks the properties of a placed question that its schema cannot express. */
export const assertPlaced = ({import: importId, place, draft, draftId, draftScope}: Body, context: z.RefinementCtx): void => {
  const refuse = (path: string, message: string) => context.addIssue({code: 'custom', path: [path], message})
  if (importId === undefined && place !== undefined) refuse('place', 'A place belongs to an import. Name the import')
  if (!draft && (draftId != null || draftScope != null)) refuse('draft', 'Only a draft has an id or a scope')
}

export type PlacedQuestion = Pick<TurnQuestion, 'org' | 'person' | 'via' | 'draft'> & {
  importId: string | null
  place: ConversationPlace | null
}

export const placedQuestionOf = ({org, person, via}: Pick<PlacedQuestion, 'org' | 'person' | 'via'>, body: Body): PlacedQuestion => {
  const {import: importId = null, place, draft, draftId = null, draftScope = null} = body
  return {org, person, via, importId, place: place === undefined ? null : readPlace(place), draft: {draft, draftId, draftScope}}
}

/**
 * Finds the import of a question and returns the data for `keepTurn`. `asking` is null if the turn is not stored. Refuses an import that
 * the org does not have or that expired, and a place whose file the import does not have.
 */
export const openQuestionStore = async (
  db: Db,
  placedQuestion: PlacedQuestion,
): Promise<{found: Import | null; asking: TurnQuestion | null}> => {
  const {org, person, via, importId, place, draft} = placedQuestion
  if (importId === null) return {found: null, asking: null}
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files were deleted. Create a new import')
  if (place?.source && !(await findSource(db, {importNo: found.no, id: place.source}))) throw invalidPlace()
  return {
    found,
    asking: place && {org, person, via, draft, importId, place, sourceId: place.source ?? null, askedAt: await readAskedAt(db)},
  }
}

/**
 * Works like `openQuestionStore`, and also returns `keep`. `keep` stores the turn with its answer; null if the turn is not stored. Call this function
 * before reading the sample policy. If the policy then changes before the answer is stored, the answer is not replayed.
 */
export const openTurnStore = async (db: Db, placedQuestion: PlacedQuestion) => {
  const {found, asking} = await openQuestionStore(db, placedQuestion)
  if (!asking) return {found, keep: null}
  const ground = await readContextHash(db, placedQuestion.org)
  return {found, keep: (tx: Tx, turnToKeep: TurnToKeep) => keepTurn(tx, asking, {...turnToKeep, ground})}
}
