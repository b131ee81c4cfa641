import {z} from 'zod'
import {readAskedAt} from '../../sql/conversations.ts'
import type {Db, Tx} from '../../sql/database.ts'
import {findImport, type Import} from '../../sql/imports.ts'
import {findSource} from '../../sql/sources.ts'
import {drawnAs} from '../drawn.ts'
import {Refusal} from '../errors.ts'
import {readGround} from './ground.ts'
import {type Asking, keepTurn, type Told} from './keep.ts'
import {invalidPlace, type Place, readPlace} from './place.ts'
import {DRAFT_SCOPES} from './turn.ts'

/** Where a question's turn is to be kept, as the body of an AI route says it: nowhere without both an import and a place. */
export const placedShape = {
  import: z
    .string()
    .max(100)
    .optional()
    .describe('The import it is about. With a `place` too, the answer is kept as a turn of the conversation there'),
  place: drawnAs(z.unknown(), z.array(z.string()))
    .optional()
    .describe('What of the import it is about: the kind and its parts, such as `["field", "src_…", "Leads", "Email"]` or `["checks"]`'),
  draft: z.boolean().default(false).describe('The turn belongs to a draft, which is worked on beside what is there'),
  draftId: z.string().min(1).max(100).nullish().describe('The client’s own id of the draft'),
  draftScope: z.enum(DRAFT_SCOPES).nullish().describe('How far the draft goes. It is kept for the client, and nothing is done by it'),
}
type Body = z.output<z.ZodObject<typeof placedShape>>

/** What the shapes do not show. */
export const assertPlaced = ({import: importId, place, draft, draftId, draftScope}: Body, context: z.RefinementCtx): void => {
  const refuse = (path: string, message: string) => context.addIssue({code: 'custom', path: [path], message})
  if (importId === undefined && place !== undefined) refuse('place', 'A place is one of an import: name the import')
  if (!draft && (draftId != null || draftScope != null)) refuse('draft', 'Only a draft has an id or a scope')
}

export type Placed = Pick<Asking, 'org' | 'person' | 'via' | 'draft'> & {importId: string | null; place: Place | null}

/** Throws INVALID_PLACE. */
export const placedOf = ({org, person, via}: Pick<Placed, 'org' | 'person' | 'via'>, body: Body): Placed => {
  const {import: importId = null, place, draft, draftId = null, draftScope = null} = body
  return {...{org, person, via, importId}, place: place === undefined ? null : readPlace(place), draft: {draft, draftId, draftScope}}
}

/**
 * The import that is asked about, and what `keepTurn` is told once the answer is there: null where no turn is to be kept. Refuses an import the org
 * does not have, or whose files are gone, and a place of a file it does not have.
 */
export const openAsking = async (db: Db, asked: Placed): Promise<{found: Import | null; asking: Asking | null}> => {
  const {org, person, via, importId, place, draft} = asked
  if (importId === null) return {found: null, asking: null}
  const found = await findImport(db, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files are gone: make a new one')
  if (place?.source && !(await findSource(db, {importNo: found.no, id: place.source}))) throw invalidPlace()
  return {found, asking: place && {org, person, via, draft, importId, place, askedAt: await readAskedAt(db)}}
}

/**
 * The same, with the way to keep the answer: null where none is to be kept. To be opened before what decides what may leave is read, so that an
 * answer during which somebody changes that is not sent again.
 */
export const openKeeping = async (db: Db, asked: Placed) => {
  const {found, asking} = await openAsking(db, asked)
  if (!asking) return {found, keep: null}
  const ground = await readGround(db, asked.org)
  return {found, keep: (tx: Tx, told: Told) => keepTurn(tx, asking, {...told, ground})}
}
