import type {Call} from './calls.ts'
import {list} from './expand.ts'
import {missing} from './refusals.ts'
import type {Thing} from './store.ts'

/** Newest first, after `starting_after` or before `ending_before`, up to `limit`; `created` is a time or a range. */
export const page = ({params, path}: Call, things: Thing[]): any => {
  const {limit = 10, starting_after: after, ending_before: before, created} = params
  const newest = things.filter(thing => isCreatedIn(created, thing.created)).toReversed()
  const size = Math.min(Math.max(limit, 1), 100)
  if (before !== undefined) {
    const end = indexOf(newest, before, 'ending_before')
    const start = Math.max(0, end - size)
    return list(newest.slice(start, end), path, start > 0)
  }
  const start = after === undefined ? 0 : indexOf(newest, after, 'starting_after') + 1
  return list(newest.slice(start, start + size), path, newest.length > start + size)
}

const indexOf = (things: Thing[], id: string, param: string) => {
  const index = things.findIndex(thing => thing.id === id)
  if (index === -1) throw missing(things[0]?.object ?? 'object', id, param)
  return index
}

const isCreatedIn = (range: any, at: number): boolean => {
  if (range === undefined) return true
  if (typeof range === 'number') return at === range
  const {gt, gte, lt, lte} = range
  return (
    (gt === undefined || at > gt) && (gte === undefined || at >= gte) && (lt === undefined || at < lt) && (lte === undefined || at <= lte)
  )
}
