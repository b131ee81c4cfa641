/** Compares record ids by age, oldest first. The CRM's ids are growing numbers. */
export const compareAge = (one: string, other: string): number => one.length - other.length || (one < other ? -1 : Number(one > other))
