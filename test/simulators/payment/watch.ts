/** Parameters that remember who was asked for: one that no handler looks at is one the stand-in does not carry. */
export const watch = (given: Record<string, any>): {params: Record<string, any>; unread: () => string[]} => {
  const read = new Set<string>(['expand'])
  const params = new Proxy(given, {
    get: (target, name) => {
      read.add(String(name))
      return Reflect.get(target, name)
    },
  })
  return {params, unread: () => Object.keys(given).filter(name => !read.has(name))}
}
