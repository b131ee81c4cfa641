/** Tracks which parameters a handler reads; an unread one is unsupported by the stand-in. */
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
