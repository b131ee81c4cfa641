import {misfitOf} from './misfit.ts'
import {objectSchema, schemaNames} from './schemas/files.ts'

/** Throws if an answer, or the object in an event, violates the provider's types. */
export const checkAnswer = (thing: any): void => {
  if (thing?.deleted === true) return
  if (thing?.object === 'list') return void thing.data.forEach(checkAnswer)
  const name = schemaNames[thing?.object]
  if (name === undefined) throw new TypeError(`An answer that is nothing known: ${JSON.stringify(thing).slice(0, 200)}`)
  const misfit = misfitOf(objectSchema(name), thing)
  if (misfit !== null) throw new TypeError(`${name}: ${misfit}`)
  if (thing.object === 'event') checkAnswer(thing.data.object)
}
