// Numbers that can be slid: a slider beside the field, both always the same. Without script the field alone does.
for (const number of document.querySelectorAll("input[data-slide]")) {
  const slide = document.createElement("input");
  slide.type = "range";
  for (const name of ["min", "max", "step", "value"]) slide[name] = number[name];
  slide.setAttribute("aria-labelledby", "l-" + number.name);
  number.before(slide);
  slide.addEventListener("input", () => { number.value = slide.value; });
  number.addEventListener("input", () => { slide.value = number.value; });
}
document.documentElement.classList.add("scripted");
