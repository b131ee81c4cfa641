import {Ajv, type ValidateFunction} from 'ajv'
import {objectNames, objectSchema, schemaNames} from './schemas/files.ts'

/** Throws when an answer, or an event's snapshot in it, is not what the provider's own types say. */
export const createAnswerCheck = (): ((body: unknown) => void) => {
  // Optimising, and proving our own schemas, takes four times as long as everything that is checked with them.
  const ajv = new Ajv({strict: false, allErrors: false, validateSchema: false, code: {optimize: false}})
  for (const name of objectNames()) ajv.addSchema(objectSchema(name))
  const compiled = new Map<string, ValidateFunction>()
  const check = (thing: any): void => {
    if (thing?.deleted === true) return
    if (thing?.object === 'list') return void thing.data.forEach(check)
    const name = schemaNames[thing?.object]
    if (name === undefined) throw new TypeError(`An answer that is nothing known: ${JSON.stringify(thing).slice(0, 200)}`)
    let validate = compiled.get(name)
    if (!validate) compiled.set(name, (validate = ajv.getSchema(name)!))
    const isRight: boolean = validate(thing)
    if (!isRight) throw new TypeError(`${name}: ${ajv.errorsText(validate.errors)}`)
    if (thing.object === 'event') check(thing.data.object)
  }
  return check
}
