import {type Document, escapePart, type Json, listOperations, type Operation, partAt} from './openapi.ts'

/**
 * A fault of the vendor's documents, which is corrected before the check. `document`: the end of the document's name. `changes` by JSON
 * pointer, which may pass through references: `or` allows another schema too, `set` replaces the value, and `remove` removes it.
 */
export type KnownFault = {document: string; reason: string; source: string; changes: Record<string, Change>}
/** An answer that every operation can give, but that its document omits or describes differently. */
export type CommonAnswer = {status: string; schema: Json; reason: string; source: string}
type Change = {or: Json} | {set: unknown} | {remove: true}

/**
 * Returns corrected copies of the documents. Throws if a document does not have the position of a correction, because the correction is
 * then obsolete.
 */
export const correctDocuments = (documents: Document[], faults: KnownFault[], common: CommonAnswer[]): Document[] => {
  const copies = structuredClone(documents)
  for (const operation of listOperations(copies)) for (const answer of common) addAnswer(operation, answer)
  for (const {document, changes} of faults)
    for (const [at, change] of Object.entries(changes)) applyChange(findDocument(copies, document), at, change)
  return copies
}

const findDocument = (documents: Document[], name: string) => {
  const found = documents.find(document => document.name.endsWith(name))
  if (!found) throw new RangeError(`There is no document ${name}`)
  return found
}

const applyChange = (document: Document, at: string, change: Change) => {
  const cut = at.lastIndexOf('/')
  const [parent, key] = [
    partAt(document, at.slice(0, cut)).json,
    at
      .slice(cut + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~'),
  ]
  if ('set' in change) parent[key] = change.set
  else if (!(key in parent)) throw new RangeError(`${document.name} has no ${at}`)
  else if ('or' in change) parent[key] = {anyOf: [parent[key], change.or]}
  else delete parent[key]
}

const addAnswer = ({document, pointer, json}: Operation, {status, schema}: CommonAnswer) => {
  const known = json.responses?.[status]
  const answer = known && partAt(document, `${pointer}/responses/${escapePart(status)}`).json
  const before = answer?.content?.['application/json']?.schema
  json.responses = {...json.responses, [status]: {content: {'application/json': {schema: before ? {anyOf: [before, schema]} : schema}}}}
}
