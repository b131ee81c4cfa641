import type {Db} from '../../../sql/database.ts'
import {IMAGE_LIST, listSegments, type Segment} from '../../../sql/segments.ts'
import type {Storage} from '../../storage/storage.ts'
import {itemsOf, unpackLines} from '../segment.ts'
import type {ImageSeal} from './image-key.ts'

export type FieldValues = Record<string, unknown>

/**
 * The values of one record before a write, and the values that were sent. `key`: the row key. `flow`, `module`: their numbers in the run. With
 * `subform`, `before` and `sent` contain a list of rows under the subform's field.
 */
export type BeforeImage = {
  row: number
  key: string
  flow: number
  module: number
  recordId: string
  phase: 'write' | 'patch'
  before: FieldValues
  /** Null for a record that an undo deleted. */
  sent: FieldValues | null
  /** The field whose rows were replaced, and the rows of the file. */
  subform?: {field: string; rows: {key: string; number: number}[]}
  /** Of an undo that wrote the record for several rows: all of them. */
  undoneRows?: {key: string; number: number; flow: number; module: number}[]
  /** The marks that were stored for the record before the write. */
  marks?: string
  /**
   * The number of the row's next attempt when the image was stored. Set for external runs, which may write a row several times, and for a patch that
   * an earlier owner of the run sent.
   */
  attempt?: number
  /** The item of an external engine's request. Two requests for one row may have the same next attempt. */
  item?: string
  /** The item was refused or not sent, so its image does not apply. `before` and `sent` are empty. */
  isVoid?: true
  /** The CRM refused to show the values, so `before` is empty. */
  isUnread?: true
}

const segmentsPerLook = 100

/**
 * Yields the before images of a run in the order in which they were stored, segment by segment. `at`: the number of the first image of a
 * segment.
 */
export async function* readImages(
  {db, storage}: {db: Db; storage: Storage},
  {run, seal}: {run: number; seal: ImageSeal},
): AsyncGenerator<{at: number; images: BeforeImage[]}> {
  for (let from = 1, segments: readonly Segment[] = []; ; from = segments.at(-1)!.last + 1) {
    segments = await listSegments(db, {run, list: IMAGE_LIST, from, limit: segmentsPerLook})
    for (const segment of segments)
      yield {at: segment.first, images: itemsOf<BeforeImage>(await unpackLines(storage, segment, seal.unseal))}
    if (segments.length < segmentsPerLook) return
  }
}
