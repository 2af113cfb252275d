/** Finds HTML elements that are not shown: by their style, or by the attribute `hidden`. */
export function findHiddenHtml(
  text: string,
  mustAddressModel: boolean,
  limit: number,
): { readonly start: number; readonly end: number }[] {
  const found: { start: number; end: number }[] = []
  // Most texts are not HTML.
  if (!text.includes('<') || !/(?:style|size)\s{0,4}=|\bhidden\b/i.test(text)) return found
  for (const { 0: tag, 1: attributes = '', index } of text.matchAll(openingTag)) {
    if (!isHidden(attributes)) continue
    const start = index + tag.length
    const end = contentEnd(text, start)
    const content = text.slice(start, end)
    if (!/[a-z]{2}/i.test(content) || (mustAddressModel && !addressesModel.test(content))) continue
    found.push({ start: index, end })
    if (found.length >= limit) break
  }
  return found
}

/** Attributes are bounded, so that a text of opening brackets takes linear time. */
const openingTag = /<[a-z][a-z\d-]{0,30}(\s[^<>]{1,1000})>/gi

/** How much of an element is looked at. */
const maxContent = 1_000

function contentEnd(text: string, start: number): number {
  const close = text.slice(start, start + maxContent).indexOf('</')
  return close < 0 ? Math.min(text.length, start + maxContent) : start + close
}

function isHidden(attributes: string): boolean {
  if (/(?:^|\s)hidden(?:\s|=|\/|$)|(?:^|\s)size\s{0,4}=\s{0,4}["']?0(?:\D|$)/i.test(attributes)) return true
  const style = /(?:^|\s)style\s{0,4}=\s{0,4}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(attributes)
  const rules = style?.[1] ?? style?.[2] ?? style?.[3]
  return rules !== undefined && (hidingStyle.test(rules) || hasInvisibleColor(rules))
}

const hidingStyle =
  /display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}(?:hidden|collapse)|font-size\s{0,4}:\s{0,4}(?:0(?!\.?[1-9])|1px|0?\.[0-2]|0?\.\d{1,4}p[xt])|opacity\s{0,4}:\s{0,4}0?(?:\.0)?(?:\s|;|$)|(?:left|top|text-indent|margin-left)\s{0,4}:\s{0,4}-\d{3,}|clip(?:-path)?\s{0,4}:\s{0,4}(?:rect\(0|inset\(50%|inset\(100%)|(?:^|[;\s])(?:max-)?(?:height|width)\s{0,4}:\s{0,4}0(?:px)?(?:\s|;|$)/i

/** White or transparent letters. On a dark page white ones are ordinary, so the background must be white, too. */
function hasInvisibleColor(rules: string): boolean {
  const color = /(?:^|[;\s])color\s{0,4}:\s{0,4}([^;]{1,40})/i.exec(rules)?.[1]?.trim().toLowerCase()
  const background = /(?:^|[;\s])background(?:-color)?\s{0,4}:\s{0,4}([^;]{1,40})/i
    .exec(rules)?.[1]
    ?.trim()
    .toLowerCase()
  if (color === undefined) return false
  return color === 'transparent' || (background !== undefined && nameOfColor(color) === nameOfColor(background))
}

function nameOfColor(color: string): string {
  return /^(?:white|#f{3}|#f{6}|rgb\(255,\s?255,\s?255\))$/.test(color) ? 'white' : color
}

const addressesModel =
  /\b(?:assistants?|language models?|llms?|ai (?:agents?|models?|assistants?|system)|the (?:ai|agent|model)|system prompt|chatbots?|ignore|forget|(?:reply|respond|answer) (?:only|with)|your (?:new )?task|instructions?|do not (?:tell|mention))\b/i
