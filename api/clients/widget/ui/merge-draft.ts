/** The values of a form as they were saved: `before`, which the draft began with, and now. */
type SavedValues<T> = {before: T; saved: T}

/** Returns the draft of a form after its saved values changed: unsaved changes stay, and other fields take the new saved value. */
export const mergeDraft = <T extends object>(draft: T, {before, saved}: SavedValues<T>): T =>
  Object.fromEntries(
    Object.entries(saved).map(([name, value]) => {
      const key = name as keyof T
      return [key, mergeField(draft[key], {before: before[key], saved: value})]
    }),
  ) as T

/** If both sides changed a list, the result has the additions and lacks the removals of both. */
const mergeField = (mine: unknown, {before, saved}: SavedValues<unknown>): unknown => {
  if (isSame(mine, before)) return saved
  if (isSame(saved, before) || !(Array.isArray(mine) && Array.isArray(before) && Array.isArray(saved))) return mine
  const kept = saved.filter(one => mine.includes(one) || !before.includes(one))
  return [...kept, ...mine.filter(one => !before.includes(one) && !saved.includes(one))]
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
